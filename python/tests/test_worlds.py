"""Worlds of one's own, sweeps, and what a call may change."""

from __future__ import annotations

import subprocess
from concurrent.futures import ProcessPoolExecutor

import cbwk
import numpy as np
import pytest

BASE = {
    "study": {"name": "own", "horizon": 6, "episodes": 8, "replications": 2, "seed": 3, "optimum_rows": 400},
    "budget": {"kind": "cycle", "values": [2, 3]},
    "application": {"kind": "pricing", "prices": [1.0, 2.0]},
    "contexts": {"kind": "finite", "values": [[0.0], [1.0]]},
    "conversion": {"kind": "logistic", "weights": [1.0, -0.5]},
    "policies": [{"kind": "tight-opt-dp", "oracle": {"kind": "logistic"}}, {"kind": "clairvoyant"}],
}


def logistic(contexts, steps, prices):
    assert contexts.shape == (len(steps), 1) and steps.min() >= 1
    return 1 / (1 + np.exp(-contexts[:, :1] + 0.5 * prices))


def evening(contexts, steps, prices):
    return np.where(steps[:, np.newaxis] > 3, 0.9, 0.2) / prices


class Skewed:
    """A law whose arrivals grow with the step."""

    def __init__(self, power=2.0):
        self.power = power

    def __call__(self, generator, steps):
        return generator.random((len(steps), 1)) ** (self.power / steps[:, np.newaxis])


def study(**parts):
    return cbwk.Study.from_dict({**BASE, **parts})


def same(one, other):
    return all(np.array_equal(one.episodes[name], other.episodes[name]) for name in ("reward", "opt", "spent"))


def test_an_own_conversion_is_as_exact_as_the_built_in_one():
    ours, own = study().run(), study(conversion=logistic).run()
    np.testing.assert_allclose(own.episodes["opt"], ours.episodes["opt"], rtol=1e-12)
    assert np.array_equal(own.episodes["reward"], ours.episodes["reward"]) and "opt_rows" not in own.run


def test_a_conversion_may_depend_on_the_step():
    rows = np.repeat([[0.2, 0.1], [0.9, 0.45]], 3, axis=0)
    own = study(conversion={"kind": "own", "code": evening, "by_step": True}).run()
    ours = study(conversion={"kind": "armed-by-step", "probabilities": rows}).run()
    np.testing.assert_allclose(own.episodes["opt"], ours.episodes["opt"], rtol=1e-12)


def test_an_own_law_is_seeded_by_the_study(tmp_path, program):
    law = {"kind": "own", "code": Skewed(power=3.0), "low": [0.0], "high": [1.0], "no_arrival": 0.2}
    mine = study(contexts=law, conversion=logistic)
    first = mine.run(out=tmp_path / "own")
    assert first.run["opt_rows"] == 400
    again = cbwk.Study.from_file(tmp_path / "own" / "study.toml").run(threads=1)
    with ProcessPoolExecutor(2) as pool:
        there = mine.run(executor=pool)
    assert same(first, again) and same(first, there) and not same(first, mine.run(seed=4))
    assert {one["place"]: one["class"] for one in first.run["own"]} == {"contexts": "Skewed", "conversion": "logistic"}
    said = subprocess.run([program, "verify", tmp_path / "own"], capture_output=True, text=True)
    assert said.returncode == 0 and "conversion: own conversion, not run again" in said.stdout
    said = subprocess.run([program, "simulate", tmp_path / "own" / "study.toml"], capture_output=True, text=True)
    assert said.returncode == 2 and "contexts: found own contexts, Skewed" in said.stderr


def test_mistakes_in_own_worlds_come_back():
    law = {"kind": "own", "low": [0.0], "high": [1.0]}
    for parts, expected in [
        ({"conversion": lambda contexts, steps, prices: contexts + 2 * prices}, "conversion.0, 0.: found .*a probability"),
        ({"conversion": lambda contexts, steps, prices: contexts}, r"conversion: found shape \(2, 1\); accepted: shape \(2, 2\)"),
        ({"contexts": {**law, "code": lambda generator, steps: steps[:, np.newaxis]}}, "contexts.1, 0.: found 2; accepted"),
    ]:
        with pytest.raises(ValueError, match=expected):
            study(**parts).run()
    with pytest.raises(ZeroDivisionError):
        study(conversion=lambda contexts, steps, prices: 1 / 0).run()


def test_an_environment_of_an_own_world():
    gym = pytest.importorskip("cbwk.gym")
    env = gym.Environment(study(conversion=logistic))
    budgets = []
    for episode in range(4):
        observation, info = env.reset(seed=1 if episode == 0 else None)
        budgets.append(observation[-1])
        assert np.array_equal(env.action_masks(), info["action_mask"].astype(bool))
    # The budgets of the study's law, not the largest one.
    assert budgets == [2, 3, 2, 3]


def test_a_sweep_is_that_of_the_command_line(tmp_path, program):
    swept = study().sweep({"budget.values": [[2, 3], [4]], "policies.tight-opt-dp.alpha": [0.1, 0.5]})
    found = swept.run(out=tmp_path / "sweep", replications=2)
    assert [point["policies.tight-opt-dp.alpha"] for point in found.points] == ["0.1", "", "0.5"] * 2
    assert found[0].policies == ["tight-opt-dp"] and found[1].policies == ["clairvoyant"]
    assert len(found.overview["final_regret"]) == len(found) == 6
    done = subprocess.run([program, "verify", tmp_path / "sweep"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("run again") == 6, done.stderr
    with pytest.raises(ValueError, match="sweep"):
        study().sweep().run()


def test_a_call_changes_the_study():
    results = study().run(episodes=5, horizon=4, budget=1, delta=0.2, reference="tight-opt-dp")
    run = results.run
    assert (run["episodes"], run["horizon"], run["delta"], run["reference"]) == (5, 4, 0.2, "tight-opt-dp")
    assert set(results.episodes["b_t"]) == {1} and "horizon=4" in run["command"]
    for wrong in ({"episodes": 0}, {"horizon": 2.5}, {"delta": "x"}, {"reference": "nobody"}, {"budget": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            study().run(**wrong)


def test_results_say_how_sure_they_are():
    results = study().run(replications=4)
    regret = results.final_regret()["tight-opt-dp"]
    run = results.run["policies"][0]
    assert (regret, regret.standard_error) == (run["final_regret"], run["standard_error"])
    assert "cpu f64" in repr(results)
    compared = results.compare()
    assert {compared["policy"][0], compared["minus"][0]} == {"tight-opt-dp", "clairvoyant"}
    # The policy with the lower regret is subtracted.
    assert compared["difference"][0] == pytest.approx(abs(run["paired_difference"]), rel=1e-9)
    half = compared["upper"][0] - compared["difference"][0]
    assert half == pytest.approx(1.959964 * run["paired_standard_error"], rel=1e-6)
    with pytest.raises(ValueError, match="policy: found `x`"):
        results.compare(["x"])
    warned = study(policies=[{"kind": "mimic-opt-dp", "oracle": {"kind": "logistic", "gamma": 0.5}}]).run()
    assert warned.warnings and warned.warnings[0] in str(warned) and "warning:" in warned._repr_html_()
