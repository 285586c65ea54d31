"""What calling from Python costs: the bench's large problem against this library's own call, a tiny problem, and a study
against the command line. Everything is measured in turns, the best of several counts.

    pip install ./python && cargo build --release --bins --example peers && python benches/python.py

`RAYON_NUM_THREADS` holds for both sides.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import cbwk
import numpy as np

built = Path(__file__).parents[1] / "target" / "release"


def best(call, times):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def quietly(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    rust, plans, solves = [], [], []
    for _ in range(3):
        quietly(built / "examples" / "peers", folder)
        problem = json.loads((folder / "problem.json").read_text())
        rust.append(problem["seconds_f64"])
        shape = (problem["contexts"], problem["actions"])
        gain, lcb = (np.fromfile(folder / name).reshape(shape) for name in ("gain.f64", "lcb.f64"))
        costs = np.tile(np.array(problem["costs"], float), (shape[0], 1))
        size = {"horizon": problem["horizon"], "budget": problem["budget"]}
        ucb = np.ones(shape)
        plan = lambda: cbwk.optimistic_plan(gain, costs, ucb, lcb, reward_max=1.0, **size)  # noqa: B023, E731
        np.testing.assert_allclose(plan()[0], problem["values"], rtol=1e-9)
        plans.append(best(plan, 20))
        # The same arrays with one probability: as many candidates.
        solves.append(best(lambda: cbwk.solve(gain, costs, lcb, **size), 20))  # noqa: B023
    print(f"large problem: the library {min(rust) * 1e3:.1f} ms")
    for name, seconds in (("optimistic_plan", plans), ("solve", solves)):
        print(f"  {name} {min(seconds) * 1e3:.1f} ms, {min(seconds) / min(rust) - 1:+.1%}")

    ones = np.ones((2, 2))
    tiny = min(best(lambda: cbwk.solve(ones, ones, ones, horizon=2, budget=2), 2000) for _ in range(3))
    print(f"tiny problem: {tiny * 1e6:.1f} us")

    cli, package = [], []
    for i in range(7):
        command = [built / "cbwk-gpu", "simulate", "--preset", "paper-auction", "--quiet", "--out", folder / f"program{i}"]
        cli.append(best(lambda: quietly(*command), 1))  # noqa: B023
        package.append(best(lambda: cbwk.Study.preset("paper-auction").run(out=folder / f"package{i}"), 1))  # noqa: B023
    print(f"paper-auction: Study.run {min(package):.3f} s, the program {min(cli):.3f} s: {min(package) / min(cli) - 1:+.1%}")
