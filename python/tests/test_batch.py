"""Many problems in one call, and the exact value of a policy."""

from __future__ import annotations

import cbwk
import numpy as np
import pytest


def problems(rng, count, contexts=3, actions=4):
    rewards = rng.uniform(-0.2, 2, (contexts, actions))
    costs = rng.integers(1, 4, (contexts, actions))
    return rewards, costs, rng.uniform(0, 1, (count, contexts, actions))


def test_a_batch_is_a_loop_of_single_calls(rng):
    rewards, costs, rho = problems(rng, 40)
    size = {"horizon": 7, "budget": 6, "weights": [1.0, 2.0, 0.5], "no_arrival": 0.1}
    values, actions = cbwk.solve_many(rewards, costs, rho, policy=True, **size)
    assert values.shape == (40, 8, 7) and actions.shape == (40, 7, 3, 7)
    alone = [cbwk.solve(rewards, costs, one, **size) for one in rho]
    assert np.array_equal(values, alone)
    assert np.array_equal(cbwk.solve_many(rewards, costs, rho, **size), values)
    # Rewards and costs of each problem, and probabilities by step.
    own = rng.uniform(0, 2, (40, 3, 4)), rng.integers(1, 3, (40, 3, 4))
    by_step = rng.uniform(0, 1, (40, 7, 3, 4))
    found = cbwk.solve_many(*own, by_step, **size)
    for i in (0, 17, 39):
        assert np.array_equal(found[i], cbwk.solve(own[0][i], own[1][i], by_step[i], **size))
    # The best actions earn the best value.
    for i in (0, 39):
        earned = cbwk.evaluate(actions[i], rewards, costs, rho[i], weights=size["weights"], no_arrival=0.1)
        np.testing.assert_allclose(earned, values[i, 0], rtol=1e-4)


def test_evaluation_against_brute_force(rng):
    rewards, costs, rho = problems(rng, 1)
    rewards = np.abs(rewards)
    horizon, budget = 4, 3
    shares = rng.uniform(0, 1, (horizon, 3, budget + 1, 5))
    shares[..., 1:] *= costs[np.newaxis, :, np.newaxis, :] <= np.arange(budget + 1)[:, np.newaxis]
    shares /= shares.sum(axis=-1, keepdims=True)
    worth = np.zeros(budget + 1)
    for h in reversed(range(horizon)):
        now = np.zeros(budget + 1)
        for b in range(budget + 1):
            for c in range(3):
                for a in range(5):
                    gain = 0.0
                    if a and shares[h, c, b, a] > 0:
                        gain = rho[0, c, a - 1] * (rewards[c, a - 1] + worth[b - costs[c, a - 1]] - worth[b])
                    now[b] += shares[h, c, b, a] * (worth[b] + gain) / 3
        worth = now
    np.testing.assert_allclose(cbwk.evaluate(shares, rewards, costs, rho[0]), worth, rtol=1e-12)
    fixed = np.zeros((horizon, 3, budget + 1))
    assert (cbwk.evaluate(fixed, rewards, costs, rho[0]) == 0).all()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"probabilities": np.ones((2, 3))}, r"probabilities: found shape \(2, 3\); accepted: shape \(problems"),
        ({"probabilities": np.full((5, 3, 4), 1.5)}, r"probabilities\[0, 0, 0\]: found 1.5"),
        ({"rewards": np.ones((4, 3, 4))}, r"rewards: found shape \(4, 3, 4\)"),
        ({"budget": (2, 3)}, "budget: found"),
        ({"backend": "tpu"}, "backend: found `tpu`"),
        ({"precision": "f16"}, "precision: found `f16`"),
        ({"adapter": "0", "backend": "cpu"}, "adapter: found `0` with the CPU"),
    ],
)
def test_wrong_batches_are_refused(rng, change, expected):
    rewards, costs, rho = problems(rng, 5)
    given = {"rewards": rewards, "costs": costs, "probabilities": rho, "horizon": 3, "budget": 4, **change}
    with pytest.raises(ValueError, match=expected):
        cbwk.solve_many(**given)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (np.ones((3, 2, 4)), "policy: found shape"),
        (np.full((3, 3, 4), 9), "policy: found 9; accepted: an action from 0 to 4"),
        (np.ones((3, 3, 4)), r"policy\[0, 0, 0\]: found action 1 with 0 units left"),
        (np.zeros((3, 3, 4, 5)), r"policy\[0, 0, 0\]: found a sum of 0"),
    ],
)
def test_wrong_policies_are_refused(rng, policy, expected):
    rewards, costs, rho = problems(rng, 1)
    with pytest.raises(ValueError, match=expected):
        cbwk.evaluate(policy, np.abs(rewards), costs, rho[0])


def test_32_bits_are_asked_for_or_said(rng):
    rewards, costs, rho = problems(rng, 20)
    size = {"horizon": 5, "budget": 4}
    exact = cbwk.solve_many(rewards, costs, rho, **size)
    single = cbwk.solve_many(rewards, costs, rho, backend="cpu", precision="f32", **size)
    np.testing.assert_allclose(single, exact, atol=1e-4)
    if not any(device["unusable"] is None for device in cbwk.devices()):
        pytest.skip("no graphics adapter")
    with pytest.warns(RuntimeWarning, match="computed in 32 bits on"):
        found = cbwk.solve_many(rewards, costs, rho, backend="gpu", **size)
    np.testing.assert_allclose(found, exact, atol=1e-4)
    cbwk.solve_many(rewards, costs, rho, backend="gpu", precision="f32", **size)
