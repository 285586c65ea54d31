"""Optimistic-DP in NumPy, Numba and JAX on the problem that `cargo run --release --example peers -- FOLDER` writes.

    python3 -m venv peers && peers/bin/pip install numpy numba jax
    cargo run --release --example peers -- /tmp/problem && peers/bin/python benches/peers.py /tmp/problem

Each is written the way its users would write it for speed, and must find the same values. Prints the best of several
runs, the first of which (compilation) is not counted, and the ratio to this library's time on the same machine.
Packages that are not installed are left out.
"""

import importlib
import json
import os
import platform
import sys
import time

import numpy as np

folder = sys.argv[1]
problem = json.load(open(os.path.join(folder, "problem.json")))
H, B, S, A = (problem[k] for k in ("horizon", "budget", "contexts", "actions"))
costs = np.array(problem["costs"])
gain = np.fromfile(os.path.join(folder, "gain.f64")).reshape(S, A)
lcb = np.fromfile(os.path.join(folder, "lcb.f64")).reshape(S, A)


def finish(h, u, total):
    """One step's values: waiting plus the mean gain, capped at min(b, H - h) * r_max, r_max = 1."""
    return np.minimum(u + total / S, np.minimum(np.arange(B + 1), H - h))


def gaps_of(u):
    """u(b) - u(b - c) for c = 1 .. largest cost, huge where c > b."""
    gaps = np.full((costs.max() + 1, B + 1), 1e300)
    for c in range(1, costs.max() + 1):
        gaps[c, c:] = u[c:] - u[:-c]
    return gaps


def with_numpy():
    u = np.zeros(B + 1)
    best, value = np.empty((S, B + 1)), np.empty((S, B + 1))
    for h in reversed(range(H)):
        gaps = gaps_of(u)
        best.fill(0.0)
        for a in range(A):
            np.multiply(-lcb[:, a, None], gaps[costs[a]][None, :], out=value)
            value += gain[:, a, None]
            np.maximum(best, value, out=best)
        u = finish(h, u, best.sum(axis=0))
    return u


def numba_solver():
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def sums(gain, lcb, costs, gaps, out):
        chunks, width = out.shape
        size = (gain.shape[0] + chunks - 1) // chunks
        for k in numba.prange(chunks):
            total = np.zeros(width)
            best = np.empty(width)
            for s in range(k * size, min((k + 1) * size, gain.shape[0])):
                best[:] = 0.0
                for a in range(gain.shape[1]):
                    g, l, row = gain[s, a], lcb[s, a], gaps[costs[a]]
                    for b in range(width):
                        best[b] = max(best[b], g - l * row[b])
                for b in range(width):
                    total[b] += best[b]
            out[k] = total

    def solve():
        u = np.zeros(B + 1)
        out = np.empty((64, B + 1))
        for h in reversed(range(H)):
            sums(gain, lcb, costs, gaps_of(u), out)
            u = finish(h, u, out.sum(axis=0))
        return u

    return solve


def jax_solver(dtype):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    g, l = jnp.asarray(gain, dtype), jnp.asarray(lcb, dtype)
    budgets = jnp.arange(B + 1)
    huge = 1e300 if dtype == jnp.float64 else 1e30

    @jax.jit
    def solve_all(g, l):
        def step(u, h):
            best = jnp.zeros((S, B + 1), dtype)
            for a in range(A):
                c = int(costs[a])
                gap = jnp.where(budgets >= c, u - jnp.roll(u, c), huge).astype(dtype)
                best = jnp.maximum(best, g[:, a, None] - l[:, a, None] * gap[None, :])
            total = best.sum(axis=0).astype(jnp.float64)
            return jnp.minimum(u + total / S, jnp.minimum(budgets, H - h)), None

        u, _ = jax.lax.scan(step, jnp.zeros(B + 1, jnp.float64), jnp.arange(H - 1, -1, -1))
        return u

    return lambda: np.asarray(solve_all(g, l))


def version(package):
    try:
        return importlib.import_module(package).__version__
    except ImportError:
        return None


def report(name, solve, runs, tolerance, ours):
    values = solve()
    off = np.max(np.abs(values - problem["values"])) / H
    assert off < tolerance, f"{name}: {off} off"
    best = min(timed(solve) for _ in range(runs))
    print(f"{name:28} {best:8.3f} s   {best / ours:6.1f}x this library ({ours:.3f} s)")


def timed(solve):
    start = time.perf_counter()
    solve()
    return time.perf_counter() - start


print(f"H = {H}, budgets 0..{B}, {S} contexts, {A} actions; {os.cpu_count()} processors, Python {platform.python_version()}")
report(f"NumPy {np.__version__}", with_numpy, 2, 1e-12, problem["seconds_f64"])
if version("numba"):
    report(f"Numba {version('numba')}, parallel", numba_solver(), 5, 1e-12, problem["seconds_f64"])
if version("jax"):
    import jax.numpy as jnp

    report(f"JAX {version('jax')}, f64", jax_solver(jnp.float64), 3, 1e-12, problem["seconds_f64"])
    report(f"JAX {version('jax')}, f32", jax_solver(jnp.float32), 3, 1e-5, problem["seconds_f32"])
