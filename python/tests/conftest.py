"""What tests share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture(scope="session")
def program() -> str:
    """The command line, where it has been built: CBWK_PROGRAM, or the one beside this package."""
    beside = Path(__file__).parents[2] / "target" / "release" / "cbwk-gpu"
    found = os.environ.get("CBWK_PROGRAM") or (str(beside) if beside.exists() else shutil.which("cbwk-gpu"))
    if found is None:
        reason = "the program is not built: cargo build --release"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return found
