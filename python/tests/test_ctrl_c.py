"""Ctrl-C ends whatever computes within half a second, and keeps what is finished where a folder was given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import Executor, Future
from pathlib import Path

import cbwk
import pytest
from test_study import SMALL, same_files, simulate

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to a process")

# Half a second by itself; tests share the machine.
BOUND = 2.0

LARGE = """
    rng = np.random.default_rng(1)
    rewards, rho = rng.uniform(0, 1, (20000, 16)), rng.uniform(0, 1, (20000, 16))
    costs = rng.integers(1, 5, (20000, 16))
"""
AUCTION = """
    study = cbwk.Study.preset("paper-auction")
"""
SHOP = """
    study = cbwk.Study.from_dict({
        "study": {"horizon": 24, "episodes": 2000, "replications": 4},
        "budget": {"kind": "constant", "value": 10},
        "application": {"kind": "pricing", "prices": [1.0, 2.0, 3.0]},
        "contexts": {"kind": "box", "low": [0.0, 0.0], "high": [1.0, 1.0]},
        "conversion": {"kind": "logistic", "weights": [1.0, 0.5, -0.7]},
        "policies": [{"kind": "tight-opt-dp", "oracle": {"kind": "kernel", "kernel": {"kind": "squared-exponential", "length": 0.5}}}],
    })
"""
OWN = AUCTION + """
    from test_own import Armed, FirstByStep
    own = {"kind": "mimic-opt-dp", "name": "own", "oracle": Armed}
"""
THREADS = AUCTION + """
    from concurrent.futures import ThreadPoolExecutor
"""
PROCESSES = AUCTION + """
    from concurrent.futures import ProcessPoolExecutor
"""
MANY = 'replications=100000, policies=["random", "tight-opt-dp"]'
CASES = {
    "solve": (LARGE, "cbwk.solve(rewards, costs, rho, horizon=3000, budget=3000)", 1.0),
    "plan": (LARGE, "cbwk.optimistic_plan(rewards, costs, rho, rho / 2, horizon=3000, budget=3000)", 1.0),
    "study": (AUCTION, f"study.run({MANY})", 1.0),
    "study with progress": (AUCTION, f"study.run({MANY}, progress=lambda done, total: None)", 1.0),
    "kernel": (SHOP, "study.run()", 3.0),
    "kernel with progress": (SHOP, "study.run(progress=lambda done, total: None)", 3.0),
    "own oracle": (OWN, "study.run(replications=1000, policies=[own])", 1.0),
    "own policy": (OWN, "study.run(replications=20000, policies=[FirstByStep])", 1.0),
    "threads": (THREADS, f"with ThreadPoolExecutor(2) as pool: study.run({MANY}, executor=pool)", 1.0),
    "processes": (PROCESSES, f"with ProcessPoolExecutor(2) as pool: study.run({MANY}, executor=pool)", 2.0),
}


@pytest.fixture(autouse=True)
def heeds_ctrl_c():
    """A shell's background job ignores Ctrl-C, and so would its children: the tests heed it, however they were started."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(setup: str, call: str, after: float) -> float:
    """Runs a call, sends Ctrl-C as a terminal does, and waits for the end of all processes: the seconds it took."""
    code = "import os, numpy as np, cbwk" + textwrap.dedent(setup) + textwrap.dedent("""
        print("ready")
        try:
            CALL
        except KeyboardInterrupt:
            print("interrupted")
    """).replace("CALL", call)
    command = [sys.executable, "-u", "-c", code]
    pipe = subprocess.PIPE
    place = Path(__file__).parent
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=place, start_new_session=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        time.sleep(after)
        start = time.perf_counter()
        os.killpg(process.pid, signal.SIGINT)
        try:
            output, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert output == "interrupted\n", errors
    return time.perf_counter() - start


@pytest.mark.parametrize("case", CASES)
def test_everything_ends_soon(case, capsys):
    seconds = interrupted(*CASES[case])
    with capsys.disabled():
        print(f" {case}: {seconds:.2f} s ", end="")
    assert seconds < BOUND


def test_a_solve_that_was_left_does_not_go_on():
    code = "import os, signal, threading, time, numpy as np, cbwk" + textwrap.dedent(LARGE) + textwrap.dedent("""
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            cbwk.solve(rewards, costs, rho, horizon=3000, budget=3000)
        except KeyboardInterrupt:
            time.sleep(3.0)
            before = time.process_time()
            time.sleep(1.0)
            print(time.process_time() - before)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=Path(__file__).parent)
    assert float(done.stdout) < 0.3, done.stderr


def test_a_study_keeps_what_is_finished(tmp_path):
    interrupted(AUCTION, f"study.run({MANY}, out={str(tmp_path / 'out')!r})", 2.0)
    assert (tmp_path / "out" / "records.jsonl").stat().st_size > 1000


class InterruptedAtTheThird(Executor):
    def submit(self, run, study, index, *rest):
        if index == 3:
            raise KeyboardInterrupt
        done = Future()
        done.set_result(run(study, index, *rest))
        return done


def test_shards_that_are_finished_are_kept(program, tmp_path):
    """The command line resumes them, with the bytes of a study that was not interrupted."""
    study = cbwk.Study.from_dict(SMALL)
    with pytest.raises(KeyboardInterrupt):
        study.run(out=tmp_path / "out", replications=8, executor=InterruptedAtTheThird())
    records = (tmp_path / "out" / "records.jsonl").read_text().splitlines()
    assert len(records) > 2
    simulate(program, str(tmp_path / "out" / "study.toml"), "--out", str(tmp_path / "out"), "--resume")
    study.run(out=tmp_path / "whole", replications=8)
    same_files(tmp_path / "out", tmp_path / "whole")
