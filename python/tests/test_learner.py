"""The live learner: it decides as the simulation does, and pickling changes nothing."""

from __future__ import annotations

import pickle

import cbwk
import numpy as np
import pytest
from cbwk._native import Simulation

STUDY = {
    "study": {"name": "shop", "horizon": 8, "episodes": 25, "replications": 1, "seed": 3},
    "budget": {"kind": "constant", "value": 4},
    "application": {"kind": "pricing", "prices": [1.0, 2.0, 3.0]},
    "contexts": {"kind": "finite", "values": [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], "no_arrival": 0.1},
    "conversion": {"kind": "logistic", "weights": [1.0, 0.5, -0.7]},
    "policies": [],
}
CASES = [
    ("tight-opt-dp", {"kind": "logistic"}),
    ("tight-opt-dp", {"kind": "armed"}),
    ("mimic-opt-dp", {"kind": "armed"}),
    ("mimic-opt-dp", {"kind": "logistic", "gamma": 0.5, "kappa": 8.0}),
    ("mimic-opt-dp", {"kind": "armed-by-step"}),
]


def drive(learner: cbwk.Learner, world: Simulation, episodes: int, pickled: bool = False) -> list[float]:
    rewards = []
    for _ in range(episodes):
        learner.begin(4)
        world.begin(4)
        for step in range(1, 9):
            if pickled:
                learner = pickle.loads(pickle.dumps(learner))
            features = world.view()[0]
            offer = learner.decide(step, features) if features is not None else None
            _, accepted, _ = world.step(offer.action if offer else 0)
            if offer and offer.action:
                learner.observe(accepted)
        rewards.append(learner.end().reward)
    return rewards


@pytest.mark.parametrize(("policy", "oracle"), CASES)
def test_a_learner_decides_as_the_simulation_does(policy, oracle):
    study = cbwk.Study.from_dict({**STUDY, "policies": [{"kind": policy, "oracle": oracle}]})
    simulated = study.run().episodes["reward"]
    learner = cbwk.Learner(study.task, oracle=oracle, policy=policy, delta=0.1, episodes=25)
    driven = drive(learner, Simulation(study._source, None, 0), 25)
    assert driven == simulated.tolist() and sum(driven) > 0


@pytest.mark.parametrize(("policy", "oracle"), [*CASES, ("thompson-opt-dp", {"kind": "armed"})])
def test_pickling_at_every_step_changes_nothing(policy, oracle):
    study = cbwk.Study.from_dict({**STUDY, "policies": [{"kind": policy, "oracle": oracle}]})
    learners = [cbwk.Learner(study.task, oracle=oracle, policy=policy) for _ in range(2)]
    worlds = [Simulation(study._source, None, 0) for _ in range(2)]
    plain = drive(learners[0], worlds[0], 12)
    if policy == "thompson-opt-dp":
        # The draw of the plan in force is part of the state; the stream goes on after it.
        copy = pickle.loads(pickle.dumps(learners[0]))
        assert np.array_equal(copy.plan, learners[0].plan)
        return
    assert drive(learners[1], worlds[1], 12, pickled=True) == plain


def test_offers_hold_units_until_their_outcome():
    task = cbwk.Task(horizon=3, budget=2, wages=[1, 2], features=1)
    learner = cbwk.Learner(task, oracle={"kind": "armed"})
    learner.begin(2)
    first = learner.decide(1, [0.0])
    assert first.cost == learner.held > 0 and learner.budget == 2
    learner.withdraw(first.number)
    assert learner.held == 0
    second = learner.decide(2, 0.5)
    learner.observe(True, number=second.number)
    assert learner.budget == 2 - second.cost
    assert learner.episode == 1
    day = learner.end()
    assert (day.spent, learner.episode, learner.budget) == (second.cost, None, None)


def test_a_log_is_learnt_from_at_once(rng):
    task = cbwk.Task(horizon=5, budget=3, prices=[1.0, 2.0], features=2)
    learner = cbwk.Learner(task, oracle={"kind": "armed"})
    learner.extend_contexts(rng.uniform(0, 1, (50, 5, 2)))
    before = learner.plan
    actions = rng.integers(1, 3, 400)
    accepted = rng.uniform(size=400) < np.where(actions == 1, 0.8, 0.1)
    count = learner.extend(rng.uniform(0, 1, (400, 2)), rng.integers(1, 6, 400), actions, accepted)
    assert count == 400 == learner.observations
    assert before.max() == 0 and learner.plan[0, 3] > 1
    learner.begin(3)
    offer = learner.decide(5, [0.5, 0.5])
    assert offer.action == 1 and offer.lower < 0.8 < offer.upper


def test_a_table_of_rewards_and_costs():
    task = cbwk.Task(horizon=4, budget=6, rewards=[[1.0, 2.0], [3.0, -1.0]], costs=[[1, 2], [3, 1]])
    assert task.rewards([[1.0], [2.0]]).tolist() == [[1.0, 2.0], [3.0, -1.0]]
    assert task.costs([[2.0]]).tolist() == [[3.0, 1.0]]
    again = pickle.loads(pickle.dumps(task))
    assert repr(again) == repr(task)
    learner = cbwk.Learner(task, oracle={"kind": "armed"})
    learner.begin(6)
    assert learner.decide(1, [2.0]).action == 1


def test_a_damaged_state_is_refused():
    learner = cbwk.Learner(cbwk.Task(horizon=3, budget=2, prices=[1.0], features=1))
    state = learner.__getstate__()
    for wrong in ("", "{}", state["state"].replace('"offers":0', '"offers":-1')):
        with pytest.raises(ValueError):
            cbwk.Learner.__new__(cbwk.Learner).__setstate__({**state, "state": wrong})
