"""The engine of the package; its modules are what users see."""

import os
from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Asked = tuple[str, str | None, str | None]
Changes = dict[str, Any]

__all__ = [
    "LiveLearner",
    "RunResults",
    "Simulation",
    "StudySource",
    "TaskHandle",
    "__version__",
    "adapters",
    "calibrate",
    "check_folder",
    "expected_rewards",
    "keep_shards",
    "merge_shards",
    "run_shard",
    "run_study",
    "value_table",
    "value_tables",
]

__version__: str

def adapters() -> list[dict[str, Any]]: ...
def value_table(
    rewards: ArrayLike,
    costs: ArrayLike,
    ucb: ArrayLike,
    lcb: ArrayLike | None,
    *,
    horizon: int,
    budget: int,
    weights: ArrayLike | None,
    no_arrival: ArrayLike,
    cap: bool,
    reward_max: float | None,
    backend: Asked,
) -> NDArray[np.float64]: ...
def value_tables(
    rewards: ArrayLike,
    costs: ArrayLike,
    probabilities: ArrayLike,
    *,
    horizon: int,
    budget: int,
    weights: ArrayLike | None,
    no_arrival: ArrayLike,
    policy: bool,
    backend: Asked,
) -> tuple[NDArray[np.float64], NDArray[np.int32] | None]: ...
def expected_rewards(
    policy: ArrayLike,
    rewards: ArrayLike,
    costs: ArrayLike,
    probabilities: ArrayLike,
    *,
    weights: ArrayLike | None,
    no_arrival: ArrayLike,
) -> NDArray[np.float64]: ...
def calibrate(
    study: StudySource, changes: Changes, *, observations: int | None, repetitions: int, threads: int | None
) -> dict[str, list[Any]]: ...
def run_study(
    study: StudySource,
    changes: Changes,
    *,
    command: str,
    out: str | os.PathLike[str] | None,
    backend: Asked,
    threads: int | None,
    progress: Callable[[int, int], Any] | None,
) -> RunResults: ...
def run_shard(
    study: StudySource,
    changes: Changes,
    index: int,
    count: int,
    *,
    backend: Asked,
    threads: int | None,
    unwanted: str,
) -> str: ...
def check_folder(out: str) -> None: ...
def keep_shards(
    study: StudySource,
    changes: Changes,
    parts: list[str],
    *,
    out: str,
    command: str,
    backend: Asked,
) -> None: ...
def merge_shards(
    study: StudySource, changes: Changes, parts: list[str], *, command: str, seconds: float
) -> RunResults: ...
@final
class LiveLearner:
    def __new__(
        cls,
        task: TaskHandle,
        policy: dict[str, Any],
        oracle: Any,
        *,
        own: bool,
        delta: float,
        seed: int,
        episodes: int,
        backend: Asked,
        state: str | None,
    ) -> LiveLearner: ...
    def begin(self, budget: int) -> int: ...
    def decide(
        self, step: int, features: ArrayLike
    ) -> tuple[int, int, float | None, int, float, float, float, float, float]: ...
    def observe(self, accepted: bool, number: int | None = None) -> None: ...
    def withdraw(self, number: int) -> None: ...
    def end(self) -> tuple[int, float, int, int, bool]: ...
    def extend(
        self,
        task: TaskHandle,
        contexts: ArrayLike,
        steps: ArrayLike,
        actions: ArrayLike,
        accepted: ArrayLike,
        replan: bool,
    ) -> int: ...
    def extend_contexts(self, task: TaskHandle, rows: ArrayLike) -> int: ...
    def replan(self) -> None: ...
    def status(self) -> tuple[int | None, int | None, int, int]: ...
    def plan(self) -> NDArray[np.float64]: ...
    def state(self) -> str: ...

@final
class RunResults:
    @staticmethod
    def load(folder: str | os.PathLike[str]) -> RunResults: ...
    def save(self, folder: str | os.PathLike[str]) -> None: ...
    def episodes(self) -> dict[str, Any]: ...
    def summary(self) -> dict[str, Any]: ...
    def run_json(self) -> str: ...
    def study_toml(self) -> str: ...
    def name(self) -> str: ...
    def svg(self) -> str: ...
    def table(self) -> str: ...
    def comparison(self, policies: list[str], band: str) -> str: ...
    def notes(self) -> list[str]: ...

@final
class Simulation:
    def __new__(cls, study: StudySource, seed: int | None, replication: int) -> Simulation: ...
    @property
    def task(self) -> TaskHandle: ...
    def begin(self, budget: int | None = None) -> None: ...
    def view(self) -> tuple[NDArray[np.float64] | None, int, int, NDArray[np.bool_]]: ...
    def step(self, action: int) -> tuple[float, bool, bool]: ...

@final
class StudySource:
    @staticmethod
    def preset(name: str) -> StudySource: ...
    @staticmethod
    def presets() -> list[tuple[str, str]]: ...
    @staticmethod
    def file(path: str | os.PathLike[str]) -> StudySource: ...
    @staticmethod
    def table(dict: dict[str, Any], objects: list[Any]) -> StudySource: ...
    @staticmethod
    def of_state(state: Any, objects: list[Any]) -> StudySource: ...
    def state(self) -> tuple[Any, str, bool, str | None, int | None]: ...
    def swept(self, sweep: dict[str, Any] | None) -> StudySource: ...
    def points(self, changes: Changes) -> tuple[str, list[str], list[list[str]], list[str]]: ...
    def at(self, point: int) -> StudySource: ...
    def resolved(self) -> str: ...
    def facts(self) -> dict[str, Any]: ...

@final
class TaskHandle:
    def __new__(
        cls,
        horizon: int,
        budget: int,
        kind: str,
        values: ArrayLike | None,
        tables: tuple[ArrayLike, ArrayLike] | None,
        dimension: int,
        sizes: ArrayLike | None,
        types: ArrayLike | None,
        reward_max: float | None,
    ) -> TaskHandle: ...
    @staticmethod
    def of_study(study: StudySource) -> TaskHandle: ...
    @property
    def horizon(self) -> int: ...
    @property
    def budget(self) -> int: ...
    @property
    def actions(self) -> int: ...
    @property
    def features(self) -> int: ...
    @property
    def reward_max(self) -> float: ...
    def action_values(self) -> NDArray[np.float64]: ...
    def rewards(self, contexts: ArrayLike) -> NDArray[np.float64]: ...
    def costs(self, contexts: ArrayLike) -> NDArray[np.float64]: ...
