"""Studies: policies compared on common random numbers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._backend import AskedBackend, Backend, Precision, asked_backend
from ._entry import Entry, stated
from ._entry import policies as described
from ._native import StudySource
from ._own import Policy
from ._progress import Progress, watched
from ._results import Results
from ._task import Task, whole

if TYPE_CHECKING:
    from ._sweep import Sweep

PolicyChoice = Union[str, Mapping[str, Any], Policy, Callable[..., Policy]]
"""A kind or name; a table as in a study file, whose oracle may be your own; or your own policy: a class, an object, or a
function that makes one."""


def presets() -> dict[str, str]:
    """The built-in studies with their descriptions.

    >>> import cbwk
    >>> cbwk.presets()["paper-auction"]
    "First-price auctions of identical items: the paper's non-contextual experiment, K = 4."
    """
    return dict(StudySource.presets())


class Study:
    """A world, the policies to compare in it, and the number of replications. Made by :meth:`preset`,
    :meth:`from_file` or :meth:`from_dict`; immutable.

    >>> import cbwk
    >>> study = cbwk.Study.preset("paper-auction")
    >>> study.horizon, study.episodes, study.budget
    (24, 200, 5)
    """

    _source: StudySource
    _objects: list[Entry]
    _facts: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("use Study.preset(name), Study.from_file(path) or Study.from_dict(table)")

    @classmethod
    def _of(cls, source: StudySource, objects: Iterable[Entry] = ()) -> Study:
        study = cls.__new__(cls)
        study._source = source
        study._objects = list(objects)
        study._facts = source.facts()
        return study

    @classmethod
    def preset(cls, name: str) -> Study:
        """One of :func:`presets`."""
        return cls._of(StudySource.preset(_text("preset", name)))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Study:
        """A study file of ``cbwk-gpu simulate``, or the ``study.toml`` of a results folder. Own code that it names is imported
        when the study runs: run files of people you trust."""
        return cls._of(StudySource.file(path))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Study:
        """The sections of a study file as dictionaries; arrays are accepted as lists.

        >>> import cbwk
        >>> study = cbwk.Study.from_dict({
        ...     "study": {"name": "kiosk", "horizon": 10, "episodes": 20},
        ...     "budget": {"kind": "constant", "value": 3},
        ...     "application": {"kind": "pricing", "prices": [1, 2]},
        ...     "contexts": {"kind": "finite", "values": [[0.0], [1.0]]},
        ...     "conversion": {"kind": "armed", "probabilities": [0.6, 0.4]},
        ...     "policies": [{"kind": "tight-opt-dp"}, {"kind": "clairvoyant"}],
        ... })
        >>> study.policies
        ['tight-opt-dp', 'clairvoyant']

        A world of your own: ``conversion`` may be a function of (contexts, steps, action values) that returns the
        probabilities, shape (contexts, actions); ``{"kind": "own", "code": function, "by_step": True}`` if they depend on the
        step. Contexts ``{"kind": "own", "code": function, "low": [...], "high": [...]}`` are drawn by a function of (a NumPy
        generator seeded by the study, steps), shape (steps, features), within the corners. The optimum is exact if the law
        is one of the file's finite ones, else estimated from ``study.optimum_rows`` rows.
        """
        objects: list[Entry] = []
        source = StudySource.table(stated(table, objects), objects)
        return cls._of(source, objects)

    @property
    def name(self) -> str:
        """Name in results and pictures."""
        return str(self._facts["name"])

    @property
    def episodes(self) -> int:
        """Episodes of a replication."""
        return int(self._facts["episodes"])

    @property
    def horizon(self) -> int:
        """Steps of an episode."""
        return int(self._facts["horizon"])

    @property
    def replications(self) -> int:
        """Independent repetitions."""
        return int(self._facts["replications"])

    @property
    def seed(self) -> int:
        """Seed of all random streams."""
        return int(self._facts["seed"])

    @property
    def budget(self) -> int:
        """The largest starting budget."""
        return int(self._facts["budget"])

    @property
    def policies(self) -> list[str]:
        """Names of the policies."""
        return list(self._facts["policies"])

    @property
    def task(self) -> Task:
        """The known part of the study."""
        return Task.of_study(self)

    def to_toml(self) -> str:
        """The study file with every default filled in."""
        return self._source.resolved()

    def run(
        self,
        *,
        out: str | os.PathLike[str] | None = None,
        replications: int | None = None,
        seed: int | None = None,
        episodes: int | None = None,
        horizon: int | None = None,
        budget: int | None = None,
        delta: float | None = None,
        reference: str | None = None,
        policies: Iterable[PolicyChoice] | None = None,
        backend: Backend = "auto",
        precision: Precision | None = None,
        adapter: str | None = None,
        threads: int | None = None,
        progress: Progress = None,
        executor: Executor | None = None,
    ) -> Results:
        """Runs the study, with the same numbers, bit for bit, as on the command line.

        Parameters
        ----------
        out:
            A folder for the files of ``cbwk-gpu simulate --out``; finished replications are kept after Ctrl-C.
        replications, seed, episodes, horizon, budget, delta:
            Replace those of the study; ``budget`` is a constant one.
        reference:
            The policy that others are compared with.
        policies:
            Exactly the policies to run, in this order: names or kinds of the study's policies, or of others with their
            defaults; dictionaries as in a study file, whose ``"oracle"`` may be your own :class:`cbwk.Oracle`; your own
            :class:`cbwk.Policy`, as a class, an object or a function that makes one. ``[*study.policies, Mine]`` adds one.
        backend, precision, adapter:
            Where plans are computed: see :func:`cbwk.solve`. ``results.run`` and the printed table say what was used.
        threads:
            Number of threads; one per core by default.
        progress:
            A function of (episodes done, all episodes); ``True`` for a tqdm bar; ``False`` for none. By default a bar
            if tqdm is installed and the output is a terminal or a notebook.
        executor:
            Any executor of ``concurrent.futures``, such as a ``ProcessPoolExecutor`` or
            ``dask.distributed.Client(...).get_executor()``: replications are divided into shards that run there, and the
            result has the same bytes. Data files of the study must be readable there under the same paths.
        """
        objects = list(self._objects)
        changes: dict[str, Any] = {
            "replications": replications,
            "seed": seed,
            "episodes": episodes,
            "horizon": horizon,
            "budget": budget,
            "delta": delta,
            "reference": reference,
            "policies": None if policies is None else described(policies, objects),
        }
        changes = {key: value for key, value in changes.items() if value is not None}
        asked = asked_backend(backend, precision, adapter)
        if threads is not None:
            threads = whole("threads", threads, 1, 65535)
        folder = None if out is None else os.fspath(out)
        command = _command(self.name, {**changes, "threads": threads}, asked)
        changes["objects"] = objects
        if executor is not None:
            from ._executor import run_shards

            found = run_shards(self, executor, folder, command, changes, asked, threads, progress)
        else:
            with watched(progress, self.name) as tell:
                found = _native.run_study(
                    self._source, changes, command=command, out=folder, backend=asked, threads=threads, progress=tell
                )
        for note in found.notes():
            warnings.warn(note, stacklevel=2)
        return Results(found)

    def sweep(self, values: Mapping[str, Iterable[Any]] | None = None) -> Sweep:
        """The study with every combination of some values: paths into the study file, each with a list.

        ``"zip": [["budget.value", "study.horizon"]]`` varies keys together, as in a study file; without ``values`` the sweep
        is that of the file.

        >>> import cbwk
        >>> study = cbwk.Study.preset("paper-auction")
        >>> swept = study.sweep({"budget.value": [3, 5]}).run(replications=2, policies=["myopic", "clairvoyant"])
        >>> [point["budget.value"] for point in swept.points]
        ['3', '5']
        >>> swept[1].name
        'paper-auction'
        """
        from ._sweep import Sweep

        table = None if values is None else {key: value if key == "zip" else list(value) for key, value in values.items()}
        return Sweep(Study._of(self._source.swept(table), self._objects))

    def calibrate(
        self,
        *,
        observations: int | None = None,
        repetitions: int = 100,
        delta: float | None = None,
        seed: int | None = None,
        policies: Iterable[PolicyChoice] | None = None,
        threads: int | None = None,
    ) -> dict[str, NDArray[Any]]:
        """How often the bounds of the policies' oracles hold as data with random actions grow: the columns of
        ``cbwk-gpu calibrate``. Your own oracles are among them.

        >>> import cbwk
        >>> study = cbwk.Study.preset("paper-auction")
        >>> found = study.calibrate(observations=100, repetitions=20, policies=["tight-opt-dp"])
        >>> bool((found["all_covered"] >= 0.9).all())
        True
        """
        objects = list(self._objects)
        changes: dict[str, Any] = {"delta": delta, "seed": seed}
        changes["policies"] = None if policies is None else described(policies, objects)
        changes["objects"] = objects
        found = _native.calibrate(
            self._source,
            changes,
            observations=None if observations is None else whole("observations", observations, 1, 10**8),
            repetitions=whole("repetitions", repetitions, 1, 10**8),
            threads=None if threads is None else whole("threads", threads, 1, 65535),
        )
        return {name: np.asarray(column) for name, column in found.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (_of_state, (self._source.state(), self._objects))

    def __repr__(self) -> str:
        return f"Study({self.name!r}, episodes={self.episodes}, horizon={self.horizon}, policies={self.policies})"


def _command(name: str, changes: dict[str, Any], asked: AskedBackend) -> str:
    """The command recorded in run.json."""
    words = dict(zip(("backend", "precision", "adapter"), asked))
    if words["backend"] == "auto":
        del words["backend"]
    given = {key: value for key, value in {**changes, **words}.items() if value is not None}
    if "policies" in given:
        named = given["policies"]
        given["policies"] = [p if isinstance(p, str) else str(p.get("name", p.get("kind"))) for p in named]
    arguments = ", ".join(f"{key}={value!r}" for key, value in given.items())
    return f"cbwk.Study({name!r}).run({arguments})"


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: found {value!r:.60}; accepted: a text")
    return value


def _of_state(state: Any, objects: list[Entry]) -> Study:
    return Study._of(StudySource.of_state(state, objects), objects)
