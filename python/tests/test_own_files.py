"""Own code in results folders: it is named there, the rest is verified, and Python can run it again."""

from __future__ import annotations

import functools
import json
import subprocess
from concurrent.futures import ProcessPoolExecutor

import cbwk
import numpy as np
import pytest


class Rate(cbwk.Policy):
    """Offers the dearest action that a rate per remaining step allows."""

    def __init__(self, rate=1.0, floor=1, note=None):
        self.rate, self.floor, self.note = rate, floor, note

    def decide(self, episode, budget, contexts, steps, replications):
        left = self.task.horizon + 1 - steps[:, np.newaxis]
        wish = np.maximum(self.rate * np.arange(budget + 1) / left, self.floor)
        return np.minimum(wish, self.task.actions).astype(int)


class Made(Rate):
    """The same, made for each wave from the task."""

    def __init__(self, task, seeds, rate=1.0):
        super().__init__(rate)
        self.task, self.seeds = task, seeds


class Flat(cbwk.Oracle):
    def __init__(self, width=0.5):
        self.width = width

    def fit(self, contexts, steps, actions, accepted, delta):
        pass

    def bounds(self, contexts, steps):
        shape = (len(contexts), self.task.actions)
        return np.full(shape, 0.5 - self.width / 2), np.full(shape, 0.5 + self.width / 2)


def make(task, seeds):
    return Made(task, seeds, 3.0)


SMALL = {"replications": 2, "episodes": 6}


def study():
    return cbwk.Study.preset("paper-auction")


def run(*arguments, code=0):
    done = subprocess.run([str(word) for word in arguments], capture_output=True, text=True)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout + done.stderr


def test_the_rest_of_a_folder_is_verified(program, tmp_path):
    own = {"kind": "mimic-opt-dp", "name": "flat", "oracle": Flat(0.3)}
    study().run(**SMALL, policies=["clairvoyant", Rate(2.0), own], out=tmp_path / "own")
    text = (tmp_path / "own" / "study.toml").read_text()
    assert 'module = "test_own_files"' in text and 'class = "Rate"' in text and 'arguments = "rate=2.0"' in text
    named = json.loads((tmp_path / "own" / "run.json").read_text())["own"]
    assert [(one["place"], one["class"], one["arguments"]) for one in named] == [
        ("policies[2]", "Rate", "rate=2.0"),
        ("policies[3].oracle", "Flat", "width=0.3"),
    ]
    assert all(len(one["source"]) == 64 for one in named)
    said = run(program, "verify", tmp_path / "own")
    assert "policies[2]: own policy, not run again (Rate of module test_own_files)" in said
    assert "policies[3].oracle: own oracle, not run again" in said and "run again: 6 lines" in said
    assert "Rate 2/2, flat 2/2" in run(program, "status", tmp_path / "own")
    # The rest includes the clairvoyant's lines and all checksums.
    episodes = tmp_path / "own" / "episodes.csv"
    episodes.write_text(episodes.read_text().replace("Rate,1,1,5,", "Rate,1,1,4,", 1))
    assert "found checksum" in run(program, "verify", tmp_path / "own", code=2)


def test_a_folder_with_nothing_but_own_code_is_verified(program, tmp_path):
    study().run(**SMALL, policies=[Rate], out=tmp_path / "own")
    assert "summary.csv from 12 lines" in run(program, "verify", tmp_path / "own")


def test_a_rerun_without_the_class_is_refused_by_name(program, tmp_path):
    study().run(**SMALL, policies=["random", Rate], out=tmp_path / "own")
    said = run(program, "simulate", tmp_path / "own" / "study.toml", "--out", tmp_path / "again", code=2)
    assert "policies[2]: found own policy, Rate of module test_own_files, which is not here" in said
    text = (tmp_path / "own" / "study.toml").read_text()
    for change, expected in [
        (('class = "Rate"', 'class = "Rat"'), "own policy Rat of module test_own_files, which cannot be imported here"),
        (('module = "test_own_files"', 'module = "nowhere"'), "own policy Rate of module nowhere, which cannot be imported"),
        (('source = "', 'source = "0'), "own policy Rate of module test_own_files, whose source has changed"),
    ]:
        (tmp_path / "changed.toml").write_text(text.replace(*change))
        changed = cbwk.Study.from_file(tmp_path / "changed.toml")
        assert changed.policies == ["random", "Rate"]
        with pytest.raises(ValueError, match=expected):
            changed.run()
        # The class itself takes the place of the name.
        assert changed.run(policies=["random", Rate]).policies == ["random", "Rate"]


@pytest.mark.parametrize(
    "policy",
    [Rate, Rate(3.0), Rate(floor=2, rate=1.5), Made, functools.partial(Made, rate=3.0), make],
    ids=["class", "object", "object by name", "class of a task", "partial", "function"],
)
def test_python_runs_the_file_again_also_on_executors(tmp_path, policy):
    chosen = ["random", policy, {"kind": "myopic", "name": "flat", "oracle": functools.partial(Flat, width=0.2)}]
    first = study().run(**SMALL, policies=chosen, out=tmp_path / "own")
    again = cbwk.Study.from_file(tmp_path / "own" / "study.toml").run()
    with ProcessPoolExecutor(2) as pool:
        there = study().run(**SMALL, policies=chosen, executor=pool)
    for other in (again, there):
        assert all(np.array_equal(first.episodes[name], other.episodes[name]) for name in ("policy", "reward", "spent"))
    assert first.study == again.study == there.study


def test_arguments_that_cannot_be_read_back_are_refused(tmp_path):
    study().run(**SMALL, policies=[Rate(rate=np.float64(2.0), note=object)], out=tmp_path / "own")
    with pytest.raises(ValueError, match="with arguments `rate=2.0, note=<class 'object'>`, which cannot be read back"):
        cbwk.Study.from_file(tmp_path / "own" / "study.toml").run()


class Within(cbwk.Policy):
    """Dual descent: a price of the budget that moves after every outcome."""

    moves = True

    def start_episode(self, replications, episode, budget):
        self.rate = budget / self.task.horizon
        if episode == 1:
            self.price = np.zeros(len(replications))
            self.told = []

    def choose(self, replication, step, context, budget):
        scores = self.task.rewards([context])[0] - self.price[replication] * self.task.costs([context])[0]
        chances = np.arange(1, 5) / 5
        return int(np.argmax(np.append(0, chances * scores)))

    def observe(self, replication, step, context, action, accepted):
        if self.moves:
            self.price[replication] = max(0, self.price[replication] + 0.1 * (action * accepted - self.rate))


class After(Within):
    """The same with outcomes after the episode alone."""

    moves = False

    def learn(self, episode, contexts, steps, replications, actions, accepted):
        spent = np.bincount(replications, weights=actions * accepted, minlength=len(self.price))
        self.price = np.maximum(0, self.price + 0.1 * (spent / self.task.horizon - self.rate))


def test_policies_learn_within_an_episode():
    results = study().run(horizon=400, budget=120, episodes=10, replications=2, policies=["clairvoyant", After, Within])
    regret = results.final_regret()
    print(f" dual descent, H = 400: {regret['Within']!r} within the episode, {regret['After']!r} after it ", end="")
    assert regret["Within"] < regret["After"] / 2


class Listens(cbwk.Policy):
    """Checks the order of calls."""

    def start_episode(self, replications, episode, budget):
        assert list(replications) == list(range(len(self.seeds))) and budget == 5
        self.last = [None] * len(replications)

    def choose(self, replication, step, context, budget):
        assert self.last[replication] is None or self.last[replication][1]
        self.last[replication] = (step, False)
        return 1

    def observe(self, replication, step, context, action, accepted):
        assert self.last[replication] == (step, False) and action in (0, 1)
        self.last[replication] = (step, True)


def test_each_outcome_is_told_before_the_next_arrival():
    results = study().run(**SMALL, policies=["fixed:1", Listens])
    rewards = results.episodes["reward"]
    assert np.array_equal(rewards[:12], rewards[12:])


def test_the_list_given_is_the_list_run():
    chosen = [Rate, "random", {"kind": "fixed", "value": 1, "name": "one"}, "clairvoyant"]
    assert study().run(**SMALL, policies=chosen).policies == ["Rate", "random", "one", "clairvoyant"]
    assert study().run(**SMALL, policies=[Rate]).policies == ["Rate"]
    assert study().run(**SMALL, policies=[*study().policies, Rate]).policies == [*study().policies, "Rate"]


@pytest.mark.parametrize("kind", ["mimic-opt-dp", "tight-opt-dp", "myopic", "square-cbwk", "logistic-ucb1"])
def test_every_policy_takes_an_own_oracle(kind):
    own = {"kind": kind, "name": "own", "oracle": Flat}
    results = study().run(replications=1, episodes=2, policies=["clairvoyant", own])
    assert results.run["own"][0]["class"] == "Flat" and len(results.episodes["reward"]) == 4


def test_own_oracles_are_calibrated():
    own = {"kind": "mimic-opt-dp", "oracle": Flat(1.0)}
    found = study().calibrate(observations=20, repetitions=5, policies=[own, {**own, "name": "narrow", "oracle": Flat(0.0)}])
    assert set(found["oracle"]) == {"own of Flat", "own of narrow"}
    wide = found["oracle"] == "own of Flat"
    assert (found["all_covered"][wide] == 1).all() and (found["all_covered"][~wide] == 0).all()
