"""The package as a whole: examples, docstrings, stubs, memory, speed."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import cbwk
import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
README = Path(__file__).parents[1] / "README.md"


def modules():
    names = [name for _, name, _ in pkgutil.iter_modules(cbwk.__path__) if name != "_native"]
    return ["cbwk", *(f"cbwk.{name}" for name in names)]


@pytest.mark.parametrize("name", modules())
def test_the_examples_of_docstrings(name):
    if name == "cbwk.gym":
        pytest.importorskip("gymnasium")
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_every_public_thing_has_an_example():
    without = [name for name in cbwk.__all__ if ">>>" not in (getattr(cbwk, name).__doc__ or "")]
    assert without == ["Day", "Offer", "__version__"]


def test_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(README), module_relative=False)
    assert found.failed == 0 and found.attempted > 10


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run(example, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(example), "--small"],
        cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "agg"}, timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_stubs_are_those_of_the_package():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "cbwk", "--ignore-disjoint-bases", "--allowlist", "stubtest.txt", "--ignore-unused-allowlist"]
    # Not from the folder that has the sources beside it: what is installed counts.
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_are_sound():
    pytest.importorskip("mypy")
    source = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(source / "pyproject.toml"), str(source / "cbwk")],
        capture_output=True, text=True, timeout=600,
    )
    assert done.returncode == 0, done.stdout


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell memory this way")
def test_ten_thousand_calls_leave_nothing_behind(rng, capsys):
    rewards, costs, rho = rng.uniform(0, 1, (50, 4)), rng.integers(1, 4, (50, 4)), rng.uniform(0, 1, (50, 4))
    wide = np.asfortranarray(rho)

    def calls(count):
        for i in range(count):
            cbwk.solve(rewards, costs, wide if i % 2 else rho, horizon=10, budget=20)
            try:
                cbwk.solve(rewards, costs, rho, horizon=10, budget=-1)
            except ValueError:
                pass

    calls(1000)
    before = resident()
    calls(10_000)
    grown = resident() - before
    with capsys.disabled():
        print(f" 20,000 calls, {grown / 1024:.0f} KiB more ", end="")
    # A leak of one table of 231 numbers per call would be 18 MB.
    assert grown < 4 << 20


def test_a_small_call_is_quick(capsys):
    rewards, costs, rho = np.ones((2, 2)), np.ones((2, 2)), np.full((2, 2), 0.5)
    best = np.inf
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(200):
            cbwk.solve(rewards, costs, rho, horizon=2, budget=2)
        best = min(best, (time.perf_counter() - start) / 200)
    with capsys.disabled():
        print(f" {best * 1e6:.1f} us per call ", end="")
    # 20 us on an idle machine.
    assert best < 100e-6
