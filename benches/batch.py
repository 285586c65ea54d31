"""1,000 probability tables, such as draws from a posterior: `solve_many` against a loop of `solve` and against Numba, in turns, the
best of several counts. Values are compared first.

    pip install ./python numba && python benches/batch.py [--gpu]

`RAYON_NUM_THREADS` and `NUMBA_NUM_THREADS` hold. `--gpu` adds the first usable graphics adapter, in 32 bits.
"""

import sys
import time

import cbwk
import numba
import numpy as np

TABLES = 1000


@numba.njit(parallel=True, fastmath=True)
def by_numba(rewards, costs, rho, horizon, budget):
    count, contexts, actions = rho.shape
    values = np.zeros((count, horizon + 1, budget + 1))
    for p in numba.prange(count):
        for h in range(horizon - 1, -1, -1):
            for b in range(budget + 1):
                total = 0.0
                for c in range(contexts):
                    best = 0.0
                    for a in range(actions):
                        cost = costs[c, a]
                        if cost <= b and rewards[c, a] >= 0:
                            gap = values[p, h + 1, b] - values[p, h + 1, b - cost]
                            best = max(best, rho[p, c, a] * (rewards[c, a] - gap))
                    total += best
                values[p, h, b] = values[p, h + 1, b] + total / contexts
    return values


def times(call):
    """Wall and processor time of a call."""
    start, used = time.perf_counter(), time.process_time()
    call()
    return np.array([time.perf_counter() - start, time.process_time() - used])


rng = np.random.default_rng(1)
print(f"{TABLES} tables; milliseconds (of processor time), the best of 5 rounds")
for contexts, actions, horizon, budget in [(1, 4, 24, 5), (5, 4, 24, 5), (50, 8, 24, 20), (200, 8, 50, 50)]:
    rewards = rng.uniform(0, 2, (contexts, actions))
    costs = rng.integers(1, 4, (contexts, actions))
    rho = rng.uniform(0, 1, (TABLES, contexts, actions))
    size = {"horizon": horizon, "budget": budget}
    calls = {
        "solve_many": lambda: cbwk.solve_many(rewards, costs, rho, backend="cpu", **size),  # noqa: B023
        "loop of solve": lambda: np.array([cbwk.solve(rewards, costs, one, backend="cpu", **size) for one in rho]),  # noqa: B023
        "Numba": lambda: by_numba(rewards, costs, rho, horizon, budget),  # noqa: B023
    }
    if "--gpu" in sys.argv:
        calls["solve_many, gpu"] = lambda: cbwk.solve_many(rewards, costs, rho, backend="gpu", precision="f32", **size)  # noqa: B023
    expected = calls["solve_many"]()
    for name, call in calls.items():
        np.testing.assert_allclose(call(), expected, rtol=1e-9, atol=1e-3 if "gpu" in name else 1e-9)
    found = {name: np.full(2, np.inf) for name in calls}
    for _ in range(5):
        for name, call in calls.items():
            found[name] = np.minimum(found[name], times(call))
    shown = ", ".join(f"{name} {wall * 1e3:.1f} ({used * 1e3:.1f})" for name, (wall, used) in found.items())
    print(f"{contexts} contexts, {actions} actions, {horizon} steps, {budget} units: {shown}")
