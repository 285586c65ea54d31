"""A thousand wrong calls: each raises ValueError (or RuntimeError for a backend), none crashes, none is accepted."""

from __future__ import annotations

import itertools

import cbwk
import numpy as np
import pytest

RIGHT = dict(
    rewards=np.ones((3, 2)), costs=np.ones((3, 2), int), probabilities=np.full((3, 2), 0.5), horizon=4, budget=3
)
BAD_NUMBERS = [np.nan, np.inf, -np.inf, 1e300, -1e300]
BAD_WHOLES = [-1, 2.5, "3", None, True, 1 << 70, np.nan, [3], (), 1e300, object()]
BAD_ARRAYS = [
    None, "x", b"x", object(), {}, [], [[]], np.ones(0), np.ones(3), np.ones((2, 3)), np.ones((3, 2, 1)),
    np.ones((5, 3, 2)), np.ones((1, 1, 3, 2)), np.ones((3, 2), complex), np.ones((3, 2), bool), np.full((3, 2), "1"),
    np.full((3, 2), None), np.ones((3, 2), "datetime64[s]"), [[1, 2], [3]], [["a", "b"]] * 3, 5.0,
    np.broadcast_to(0.5, (1 << 20, 1 << 20)), np.zeros((0, 2)), np.zeros((3, 0)), lambda: 0, float("nan"),
    np.ones((3, 2), [("a", float)]), range(6), np.ma.masked,
]


def with_number(array, place, number):
    array = np.array(array, float)
    array[place] = number
    return array


def wrong_solves():
    for name in ("rewards", "costs", "probabilities"):
        for array in BAD_ARRAYS:
            yield {name: array}
        for number, place in itertools.product(BAD_NUMBERS, np.ndindex(3, 2)):
            yield {name: with_number(RIGHT[name], place, number)}
        by_step = np.broadcast_to(RIGHT[name], (4, 3, 2))
        for number, place in itertools.product(BAD_NUMBERS, np.ndindex(4, 3, 2)):
            yield {name: with_number(by_step, place, number)}
    for number, place in itertools.product([0, -1, 0.5, 1.5, 1e7, 2**33], np.ndindex(3, 2)):
        yield {"costs": with_number(RIGHT["costs"], place, number)}
    for number, place in itertools.product([-1e-9, 1 + 1e-9, 2, -3], np.ndindex(3, 2)):
        yield {"probabilities": with_number(RIGHT["probabilities"], place, number)}
    for name, value in itertools.product(["horizon", "budget"], BAD_WHOLES):
        yield {name: value}
    yield {"horizon": 0}
    yield {"horizon": 100_001}
    yield {"horizon": 99_999, "budget": 4_000_000_000}
    for weights in [[1, 1], [-1, 1, 1], [0, 0, 0], [np.nan, 1, 1], np.ones((4, 2)), np.ones((3, 3)), "x", 1.0, [1e300] * 3]:
        yield {"weights": weights}
    for no_arrival in [-0.1, 1.1, np.nan, [0.1], np.zeros(5), "x", None, [[0.1] * 4]]:
        yield {"no_arrival": no_arrival}
    for backend in ["tpu", "", "CPU"]:
        yield {"backend": backend}


def wrong_plans():
    for name in ("ucb", "lcb"):
        for array in BAD_ARRAYS:
            yield {name: array}
        for number, place in itertools.product([*BAD_NUMBERS, -0.1, 1.1], np.ndindex(3, 2)):
            yield {name: with_number(np.full((3, 2), 0.5), place, number)}
    for place in np.ndindex(3, 2):
        yield {"lcb": with_number(np.full((3, 2), 0.5), place, 0.6)}
    for reward_max in [0.5, -1, np.nan, np.inf, "x", 1e300, [1.0, 2.0]]:
        yield {"reward_max": reward_max}


def wrong_tasks():
    right = dict(horizon=4, budget=3, prices=[1.0, 2.0], features=1)
    for name, value in itertools.product(["horizon", "budget", "features"], BAD_WHOLES):
        yield cbwk.Task, {**right, name: value}
    for prices in ["x", [], [[1.0]], [0.0], [-1.0], [np.nan], [1e300], [1.0, "x"], 5.0, object()]:
        yield cbwk.Task, {**right, "prices": prices}
    for wages in [[0], [1.5], [-1], [1e7], [np.nan], []]:
        yield cbwk.Task, {"horizon": 4, "budget": 3, "wages": wages}
        yield cbwk.Task, {"horizon": 4, "budget": 3, "bids": wages}
    yield cbwk.Task, {"horizon": 4, "budget": 3}
    yield cbwk.Task, {**right, "bids": [1]}
    yield cbwk.Task, {"horizon": 4, "budget": 3, "rewards": [[1.0]]}
    yield cbwk.Task, {"horizon": 4, "budget": 3, "rewards": [[1.0]], "costs": [[1, 2]]}
    yield cbwk.Task, {**right, "sizes": [1.0, 2.0]}
    yield cbwk.Task, {**right, "sizes": [np.nan]}
    yield cbwk.Task, {**right, "types": [[1.0, 2.0]]}
    yield cbwk.Task, {**right, "reward_max": -1.0}
    yield cbwk.Task, {**right, "reward_max": "x"}


def wrong_learners():
    task = cbwk.Task(horizon=4, budget=3, prices=[1.0, 2.0], features=2)
    for oracle in [{"kind": "x"}, {"kind": "armed", "gamma": 1}, {"kind": "known"}, {"kind": 3}, {"kind": "kernel"}, {1: 2}]:
        yield cbwk.Learner, {"task": task, "oracle": oracle}
    for policy in ["x", "clairvoyant", {"kind": "tight-opt-dp", "alpha": 0.7}, {"kind": "tight-opt-dp", "beta": 1}, {}]:
        yield cbwk.Learner, {"task": task, "policy": policy}
    for delta in [0, 1, -1, np.nan, "x", None, True]:
        yield cbwk.Learner, {"task": task, "delta": delta}
    for name, value in itertools.product(["seed", "episodes"], [-1, 2.5, "x", None]):
        yield cbwk.Learner, {"task": task, name: value}
    yield cbwk.Learner, {"task": "x"}
    yield cbwk.Learner, {"task": task, "backend": "tpu"}
    learner = cbwk.Learner(task)
    for call in [learner.end, lambda: learner.observe(True), lambda: learner.decide(1, [0, 0]), lambda: learner.withdraw(1)]:
        yield call, {}
    for value in [*BAD_WHOLES, 4]:
        yield learner.begin, {"budget": value}
    open_one = cbwk.Learner(task)
    open_one.begin(3)
    yield open_one.begin, {"budget": 3}
    for step in [0, 5, *BAD_WHOLES]:
        yield open_one.decide, {"step": step, "features": [0.1, 0.2]}
    for features in [*BAD_ARRAYS, [np.nan, 0.0], [1e300, 0.0]]:
        yield open_one.decide, {"step": 1, "features": features}
    for accepted in ["x", None, 2, object(), [True]]:
        yield open_one.observe, {"accepted": accepted}
    rows = dict(contexts=[[0.1, 0.2]], steps=[1], actions=[1], accepted=[True])
    for name, value in itertools.product(rows, [[], [9], [0.5], ["x"], None, [np.nan], [[1]], [1, 1], 1]):
        yield open_one.extend, {**rows, name: value}
    for array in BAD_ARRAYS:
        yield open_one.extend, {**rows, "contexts": array}
        yield open_one.extend_contexts, {"rows": array}


def wrong_studies():
    right = {
        "study": {"horizon": 3, "episodes": 2, "replications": 1},
        "budget": {"kind": "constant", "value": 2},
        "application": {"kind": "pricing", "prices": [1, 2]},
        "contexts": {"kind": "finite", "values": [[0.0]]},
        "conversion": {"kind": "armed", "probabilities": [0.6, 0.4]},
        "policies": [{"kind": "random"}],
    }
    cbwk.Study.from_dict(right)
    for section in right:
        yield cbwk.Study.from_dict, {"table": {k: v for k, v in right.items() if k != section}}
        for value in [3, "x", [], [3], {"x": 1}, object(), {"kind": object()}, {3: 4}, np.ones(3)]:
            yield cbwk.Study.from_dict, {"table": {**right, section: value}}
    for value in [None, 3, "x", [], right.items()]:
        yield cbwk.Study.from_dict, {"table": value}
    for name in ["x", "", None, 3, "paper-auctio"]:
        yield cbwk.Study.preset, {"name": name}
    yield cbwk.Study.from_file, {"path": "/no/such/file.toml"}
    yield cbwk.Study.from_file, {"path": "/"}
    yield cbwk.Results.load, {"folder": "/no/such/folder"}
    yield cbwk.Results.load, {"folder": "/"}
    run = cbwk.Study.from_dict(right).run
    for name, value in itertools.product(["replications", "seed", "threads"], [-1, 2.5, "x", True, 1 << 70, [3], object()]):
        yield run, {name: value}
    for policies in ["random", [3], [None], ["x"], [object()], [{}], [{"kind": "x"}], [cbwk.Oracle], {"kind": "random"}]:
        yield run, {"policies": policies}
    for progress in [3, "x", object()]:
        yield run, {"progress": progress}
    yield run, {"backend": "tpu"}
    yield run, {"out": "/dev/null/x"}


def test_a_thousand_wrong_calls(capsys):
    plan = dict(rewards=RIGHT["rewards"], costs=RIGHT["costs"], ucb=np.full((3, 2), 0.5), lcb=np.full((3, 2), 0.5), horizon=4, budget=3)
    cbwk.solve(**RIGHT)
    cbwk.optimistic_plan(**plan)
    calls = [(cbwk.solve, {**RIGHT, **change}) for change in wrong_solves()]
    calls += [(cbwk.optimistic_plan, {**plan, **change}) for change in wrong_plans()]
    calls += [*wrong_tasks(), *wrong_learners(), *wrong_studies()]
    accepted, other = [], []
    for function, arguments in calls:
        try:
            function(**arguments)
        except ValueError as error:
            if "\n" in str(error):
                other.append((function, arguments, error))
        except Exception as error:  # noqa: BLE001
            other.append((function, arguments, error))
        else:
            accepted.append((function, arguments))
    show = lambda found: "\n".join(f"{x!r:.300}" for x in found[:20])  # noqa: E731
    assert not accepted, show(accepted)
    assert not other, show(other)
    assert len(calls) >= 1000, len(calls)
    with capsys.disabled():
        print(f" {len(calls)} wrong calls raised ValueError ", end="")


def test_messages_name_the_place():
    with pytest.raises(ValueError, match=r"^probabilities\[1, 0\]: found NaN; accepted: a probability from 0 to 1$"):
        cbwk.solve(**{**RIGHT, "probabilities": with_number(RIGHT["probabilities"], (1, 0), np.nan)})
    with pytest.raises(ValueError, match=r"^costs: found shape \(2, 3\); accepted: shape \(3, 2\) or \(4, 3, 2\), as in rewards$"):
        cbwk.solve(**{**RIGHT, "costs": np.ones((2, 3))})
    with pytest.raises(ValueError, match=r"^preset: found `paper-auctio`; accepted: the name of a preset \(nearest: `paper-auction`\)$"):
        cbwk.Study.preset("paper-auctio")
