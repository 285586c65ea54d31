"""Oracles and policies written in Python, beside ours and against them."""

from __future__ import annotations

import pickle

import cbwk
import numpy as np
import pytest


class Armed(cbwk.Oracle):
    """The paper's armed oracle, once more."""

    calls = 0

    def fit(self, contexts, steps, actions, accepted, delta):
        type(self).calls += 1
        assert contexts.shape == (len(actions), self.task.features) and steps.min(initial=1) >= 1
        arms = self.task.actions + 1
        n = np.bincount(actions, minlength=arms)[1:]
        s = np.bincount(actions, weights=accepted, minlength=arms)[1:]
        total = max(len(actions), 1)
        radius = np.sqrt(np.log(2 * total * arms / delta) / np.maximum(n, 1))
        mean = s / np.maximum(n, 1)
        self.lcb = np.where(n > 0, np.clip(mean - radius, 0, 1), 0)
        self.ucb = np.where(n > 0, np.clip(mean + radius, 0, 1), 1)

    def bounds(self, contexts, steps):
        type(self).calls += 1
        shape = (len(contexts), self.task.actions)
        return np.broadcast_to(self.lcb, shape), np.broadcast_to(self.ucb, shape)


class First(cbwk.Policy):
    """Always offers the first action, episode by episode."""

    name = "first"
    calls = 0

    def decide(self, episode, budget, contexts, steps, replications):
        type(self).calls += 1
        assert len(contexts) == len(steps) == len(replications)
        assert replications.max() < len(self.seeds) and 1 <= steps.min()
        return np.ones((len(contexts), budget + 1), int)


class FirstByStep(cbwk.Policy):
    """The same, asked at every arrival."""

    def choose(self, replication, step, context, budget):
        return 1


class Remembers(cbwk.Policy):
    """Checks what it is told."""

    told = []

    def decide(self, episode, budget, contexts, steps, replications):
        self.asked = (contexts, steps, replications)
        return np.full((len(contexts), budget + 1), 2)

    def learn(self, episode, contexts, steps, replications, actions, accepted):
        assert all(np.array_equal(x, y) for x, y in zip(self.asked, (contexts, steps, replications)))
        assert set(actions) <= {0, 2} and not accepted[actions == 0].any()
        self.told.append((episode, int(accepted.sum())))


def rewards(results, policy):
    episodes = results.episodes
    return episodes["reward"][episodes["policy"] == policy]


def test_an_own_oracle_plans_and_decides_as_ours(capsys):
    Armed.calls = 0
    study = cbwk.Study.preset("paper-auction")
    own = {"kind": "mimic-opt-dp", "name": "own", "oracle": Armed}
    ours = {"kind": "mimic-opt-dp", "name": "ours", "oracle": {"kind": "armed"}}
    results = study.run(replications=2, policies=["clairvoyant", ours, own])
    assert np.array_equal(rewards(results, "own"), rewards(results, "ours"))
    assert results.run["policies"][2]["bounds"] == results.run["policies"][1]["bounds"]
    # Half of 200 episodes are fitted; each fit is followed by at most two questions.
    per_replication = Armed.calls / 2
    assert per_replication <= 3 * 100 + 10
    with capsys.disabled():
        print(f" {per_replication:.0f} calls of an own oracle in 200 episodes ", end="")


def test_an_own_policy_is_asked_once_per_wave_and_episode():
    First.calls = 0
    study = cbwk.Study.preset("paper-auction")
    results = study.run(replications=3, policies=["fixed:1", First, FirstByStep])
    assert results.policies == ["fixed:1", "first", "FirstByStep"]
    assert np.array_equal(rewards(results, "first"), rewards(results, "fixed:1"))
    assert np.array_equal(rewards(results, "FirstByStep"), rewards(results, "fixed:1"))
    assert First.calls == 200


def test_an_own_policy_is_told_what_came_of_it():
    Remembers.told.clear()
    results = cbwk.Study.preset("paper-auction").run(replications=2, policies=["random", Remembers])
    assert [episode for episode, _ in Remembers.told] == list(range(1, 201))
    spent = results.episodes["spent"][results.episodes["policy"] == "Remembers"]
    assert 2 * sum(accepted for _, accepted in Remembers.told) == spent.sum()


class Raises(Armed):
    def bounds(self, contexts, steps):
        raise KeyError("mine")


class RaisesLate(cbwk.Policy):
    def decide(self, episode, budget, contexts, steps, replications):
        return np.zeros((len(contexts), budget + 1)) if episode < 5 else 1 / 0


class WrongShape(cbwk.Policy):
    def decide(self, episode, budget, contexts, steps, replications):
        return np.zeros(len(contexts))


class WrongAction(cbwk.Policy):
    def choose(self, replication, step, context, budget):
        return 99


class Crossed(Armed):
    def bounds(self, contexts, steps):
        lcb, ucb = super().bounds(contexts, steps)
        return ucb, lcb


class NoInit(cbwk.Policy):
    def __init__(self, rate):
        self.rate = rate


@pytest.mark.parametrize(
    ("own", "error"),
    [
        ({"kind": "tight-opt-dp", "oracle": Raises}, KeyError),
        (RaisesLate, ZeroDivisionError),
        (WrongShape, ValueError),
        (WrongAction, ValueError),
        (NoInit, TypeError),
        (cbwk.Policy, NotImplementedError),
        ({"kind": "tight-opt-dp", "oracle": Crossed}, ValueError),
        ({"kind": "thompson-opt-dp", "oracle": Armed}, ValueError),
        ({"kind": "tight-opt-dp", "oracle": Armed, "beta": 1}, ValueError),
        ({"kind": "tight-opt-dp", "oracle": cbwk.Oracle}, NotImplementedError),
    ],
)
def test_mistakes_come_back_as_they_were_raised(own, error):
    with pytest.raises(error):
        cbwk.Study.preset("paper-auction").run(replications=1, policies=["clairvoyant", own])


def test_a_learner_with_an_own_oracle_is_pickled_with_it():
    task = cbwk.Task(horizon=4, budget=3, bids=[1, 2], features=1, sizes=[3.0])
    learner = cbwk.Learner(task, oracle=Armed(task), policy={"kind": "mimic-opt-dp", "data": "shared"})
    for _ in range(4):
        learner.begin(3)
        for step in range(1, 5):
            if learner.decide(step, [3.0]).action:
                learner.observe(step % 2 == 0)
        learner.end()
    copy = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(copy.plan, learner.plan) and learner.plan.max() > 0
    for one in (learner, copy):
        one.begin(3)
    assert learner.decide(1, [2.0]) == copy.decide(1, [2.0])


class Solves(cbwk.Policy):
    """Uses the package inside a study, on the study's own threads."""

    def choose(self, replication, step, context, budget):
        table = cbwk.solve(self.task.rewards([context]), self.task.costs([context]), np.full((1, 4), 0.5), horizon=3, budget=3)
        return 1 if table[0, 3] >= 0 else 0


def test_an_own_policy_may_use_the_package():
    results = cbwk.Study.preset("paper-auction").run(replications=4, policies=["random", Solves], threads=2)
    assert len(rewards(results, "Solves")) == 800
