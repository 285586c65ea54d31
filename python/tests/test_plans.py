"""solve and optimistic_plan against the recursions written out in NumPy."""

from __future__ import annotations

import threading

import cbwk
import numpy as np
import pytest


def recursion(rewards, costs, ucb, lcb, horizon, budget, weights=None, no_arrival=0.0, cap=None):
    """Algorithm 2 as the paper states it, one candidate after another."""
    shape = (horizon, *np.shape(rewards)[-2:])
    rewards, costs, ucb, lcb = (np.broadcast_to(x, shape) for x in (rewards, costs, ucb, lcb))
    weights = np.ones(shape[1]) if weights is None else weights
    weights = np.broadcast_to(weights, shape[:2])
    weights = weights / weights.sum(axis=1, keepdims=True)
    arrival = 1 - np.broadcast_to(no_arrival, horizon)
    table = np.zeros((horizon + 1, budget + 1))
    for h in reversed(range(horizon)):
        for b in range(budget + 1):
            after = table[h + 1, np.maximum(b - costs[h], 0)]
            value = ucb[h] * rewards[h] + lcb[h] * after + (1 - lcb[h]) * table[h + 1, b]
            value = np.where((costs[h] <= b) & (rewards[h] >= 0), value, -np.inf)
            best = np.maximum(value.max(axis=1), table[h + 1, b])
            mean = (weights[h] * best).sum() * arrival[h] + (1 - arrival[h]) * table[h + 1, b]
            table[h, b] = mean if cap is None else min(mean, min(b, horizon - h) * cap)
    return table


def problem(rng, by_step=False, cost_max=4):
    horizon, contexts, actions = rng.integers(1, 8), rng.integers(1, 12), rng.integers(1, 6)
    shape = (horizon, contexts, actions) if by_step else (contexts, actions)
    rewards = rng.uniform(-0.5, 3, shape)
    costs = rng.integers(1, cost_max + 1, shape)
    return int(horizon), int(rng.integers(0, 15)), rewards, costs, rng.uniform(0, 1, shape)


def test_solve_is_the_bellman_recursion(rng):
    for i in range(150):
        horizon, budget, rewards, costs, rho = problem(rng, by_step=i % 3 == 0, cost_max=1 + i % 4)
        contexts = rewards.shape[-2]
        weights = [None, rng.uniform(0.1, 1, contexts), rng.uniform(0.1, 1, (horizon, contexts))][i % 3]
        no_arrival = [0.0, 0.3, rng.uniform(0, 1, horizon)][i // 3 % 3]
        found = cbwk.solve(
            rewards, costs, rho, horizon=horizon, budget=budget, weights=weights, no_arrival=no_arrival
        )
        expected = recursion(rewards, costs, rho, rho, horizon, budget, weights, no_arrival)
        assert found.shape == (horizon + 1, budget + 1) and found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_optimistic_plan_is_algorithm_2(rng):
    for i in range(150):
        horizon, budget, rewards, costs, ucb = problem(rng, by_step=i % 2 == 0)
        lcb = ucb * rng.uniform(0, 1, ucb.shape)
        r_max = max(rewards.max(), 0.0)
        asked = [None, r_max + 0.5][i % 2]
        found = cbwk.optimistic_plan(
            rewards, costs, ucb, lcb, horizon=horizon, budget=budget, reward_max=asked
        )
        expected = recursion(rewards, costs, ucb, lcb, horizon, budget, cap=asked or r_max)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_arrays_of_contexts_serve_every_step(rng):
    horizon, budget, rewards, costs, rho = problem(rng)
    by_step = rng.uniform(0, 1, (horizon, *rho.shape))
    mixed = cbwk.solve(rewards, costs, by_step, horizon=horizon, budget=budget)
    expected = recursion(rewards, costs, by_step, by_step, horizon, budget)
    np.testing.assert_allclose(mixed, expected, rtol=1e-12)


@pytest.mark.parametrize("change", ["fortran", "strided", "float32", "list", "big-endian", "read-only"])
def test_any_layout_gives_the_same(rng, change):
    _, _, rewards, costs, rho = problem(rng)
    horizon, budget = 5, 9
    if change == "float32":
        rewards, rho = rewards.astype(np.float32), rho.astype(np.float32)
    expected = cbwk.solve(rewards.astype(float), costs, rho.astype(float), horizon=horizon, budget=budget)
    if change == "fortran":
        rewards, costs, rho = (np.asfortranarray(x) for x in (rewards, costs, rho))
    elif change == "strided":
        rewards, costs, rho = (np.repeat(x, 2, axis=0)[::2] for x in (rewards, costs, rho))
    elif change == "list":
        rewards, costs, rho = rewards.tolist(), costs.tolist(), rho.tolist()
    elif change == "big-endian":
        rewards, rho = rewards.astype(">f8"), rho.astype(">f8")
    elif change == "read-only":
        rewards.flags.writeable = False
    found = cbwk.solve(rewards, costs, rho, horizon=horizon, budget=budget)
    assert np.array_equal(found, expected)


def test_inputs_are_left_as_they_were(rng):
    horizon, budget, rewards, costs, rho = problem(rng)
    before = [x.copy() for x in (rewards, costs, rho)]
    cbwk.solve(rewards, costs, rho, horizon=horizon, budget=budget)
    assert all(np.array_equal(x, y) for x, y in zip(before, (rewards, costs, rho)))


def test_the_papers_optimum():
    theta, bids = np.arange(1, 6)[:, np.newaxis], np.arange(1, 5)
    shape = (5, 4)
    table = cbwk.solve(
        theta - bids, np.broadcast_to(bids, shape), np.broadcast_to(bids / 5, shape), horizon=24, budget=5
    )
    known = [0, 3.096432, 5.438661, 7.151783, 8.350458, 9.214368]
    np.testing.assert_allclose(table[0], known, atol=1e-6)


def test_the_gpu_agrees_where_it_can_run(rng):
    horizon, budget, rewards, costs, rho = problem(rng)
    expected = cbwk.solve(rewards, costs, rho, horizon=horizon, budget=budget, backend="cpu")
    try:
        found = cbwk.solve(rewards, costs, rho, horizon=horizon, budget=budget, backend="gpu")
    except RuntimeError as error:
        assert "cannot run here" in str(error)
    else:
        np.testing.assert_allclose(found, expected, atol=4e-6 * max(rewards.max(), 1) * horizon)


def test_threads_may_call_at_once(rng):
    problems = [problem(rng) for _ in range(8)]
    problems.append((24, 200, rng.uniform(0, 1, (2000, 8)), rng.integers(1, 5, (2000, 8)), rng.uniform(0, 1, (2000, 8))))
    solve = lambda p: cbwk.solve(p[2], p[3], p[4], horizon=p[0], budget=p[1])  # noqa: E731
    expected = [solve(p) for p in problems]
    wrong = []

    def work(number):
        for i in range(20):
            place = (number + i) % len(problems)
            if not np.array_equal(solve(problems[place]), expected[place]):
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert wrong == []
