"""Studies: policies compared on common random numbers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import Any, Union

from . import _native
from ._native import OwnPolicy, StudySource
from ._own import Oracle, Policy
from ._plans import Backend
from ._progress import Progress, watched
from ._results import Results
from ._task import Task, whole

PolicyChoice = Union[str, Mapping[str, Any], type[Policy]]
"""A kind or name, a table as in a study file (its oracle may be your own class), or your own policy class."""


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
    _facts: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("use Study.preset(name), Study.from_file(path) or Study.from_dict(table)")

    @classmethod
    def _of(cls, source: StudySource) -> Study:
        study = cls.__new__(cls)
        study._source = source
        study._facts = source.facts()
        return study

    @classmethod
    def preset(cls, name: str) -> Study:
        """One of :func:`presets`."""
        return cls._of(StudySource.preset(_text("preset", name)))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Study:
        """A study file of ``cbwk-gpu simulate``."""
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
        """
        if not isinstance(table, Mapping):
            raise ValueError(f"study: found {table!r:.60}; accepted: a dictionary")
        return cls._of(StudySource.table(dict(table)))

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
        policies: Iterable[PolicyChoice] | None = None,
        backend: Backend = "auto",
        threads: int | None = None,
        progress: Progress = None,
        executor: Executor | None = None,
    ) -> Results:
        """Runs the study, with the same numbers, bit for bit, as on the command line.

        Parameters
        ----------
        out:
            A folder for the files of ``cbwk-gpu simulate --out``; finished replications are kept after Ctrl-C.
        replications, seed:
            Replace those of the study.
        policies:
            Names or kinds select policies of the study, or add them with their defaults; dictionaries add policies as in a
            study file, and their ``"oracle"`` may be a subclass of :class:`cbwk.Oracle`; subclasses of
            :class:`cbwk.Policy` come last.
        backend, threads:
            The backend, and the number of threads (one per core by default).
        progress:
            A function of (episodes done, all episodes); ``True`` for a tqdm bar; ``False`` for none. By default a bar
            if tqdm is installed and the output is a terminal or a notebook.
        executor:
            Any executor of ``concurrent.futures``, such as a ``ProcessPoolExecutor`` or
            ``dask.distributed.Client(...).get_executor()``: replications are divided into shards that run there, and the
            result has the same bytes. Data files of the study must be readable there under the same paths.
        """
        chosen, added, own = _sorted(policies)
        options: dict[str, Any] = {
            "replications": None if replications is None else whole("replications", replications, 1, 10**8),
            "seed": None if seed is None else whole("seed", seed, 0, 2**63 - 1),
            "chosen": chosen,
            "added": added,
            "backend": _text("backend", backend),
            "threads": None if threads is None else whole("threads", threads, 1, 65535),
        }
        folder = None if out is None else os.fspath(out)
        command = _command(self.name, options, [name for name, *_ in own])
        if executor is not None:
            from ._executor import run_shards

            found = run_shards(self, executor, folder, command, options, own, progress)
        else:
            with watched(progress, self.name) as tell:
                found = _native.run_study(
                    self._source,
                    command=command,
                    out=folder,
                    own=[_own(*entry) for entry in own],
                    progress=tell,
                    **options,
                )
        for note in found.notes():
            warnings.warn(note, stacklevel=2)
        return Results(found)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_of_state, self._source.state())

    def __repr__(self) -> str:
        return f"Study({self.name!r}, episodes={self.episodes}, horizon={self.horizon}, policies={self.policies})"


OwnEntry = tuple[str, Callable[..., Any], "dict[str, Any] | None"]
"""Name, class, and the learner's settings if the class is an oracle."""


def _sorted(policies: Iterable[PolicyChoice] | None) -> tuple[list[str], list[dict[str, Any]], list[OwnEntry]]:
    """Splits policies into names, tables and classes."""
    chosen: list[str] = []
    added: list[dict[str, Any]] = []
    own: list[OwnEntry] = []
    if isinstance(policies, (str, Mapping)):
        raise ValueError(f"policies: found {policies!r:.60}; accepted: a list")
    for policy in policies or []:
        if isinstance(policy, str):
            chosen.append(policy)
        elif isinstance(policy, type) and issubclass(policy, Policy):
            own.append((policy.name or policy.__name__, policy, None))
        elif isinstance(policy, Mapping):
            table = dict(policy)
            oracle = table.get("oracle")
            if isinstance(oracle, type) and issubclass(oracle, Oracle):
                del table["oracle"]
                name = table.pop("name", None) or oracle.__name__
                own.append((_text("policies.name", name), oracle, table))
            else:
                added.append(table)
        else:
            raise ValueError(
                f"policies: found {policy!r:.60}; accepted: names, tables, and subclasses of cbwk.Policy"
            )
    return chosen, added, own


def _own(name: str, made: Callable[..., Any], settings: dict[str, Any] | None) -> OwnPolicy:
    """A policy class for the engine."""
    if settings is None:
        by_step = made.choose is not Policy.choose  # type: ignore[attr-defined]
        return OwnPolicy.policy(name, lambda handle, seeds: made(Task.of_handle(handle), seeds), by_step)
    return OwnPolicy.learner(name, lambda handle: made(Task.of_handle(handle)), settings)


def _command(name: str, options: dict[str, Any], own: list[str]) -> str:
    """The command recorded in run.json."""
    asked = {key: options[key] for key in ("replications", "seed", "threads") if options[key] is not None}
    named = options["chosen"] + [str(table.get("name", table.get("kind"))) for table in options["added"]] + own
    if named:
        asked["policies"] = named
    if options["backend"] != "auto":
        asked["backend"] = options["backend"]
    arguments = ", ".join(f"{key}={value!r}" for key, value in asked.items())
    return f"cbwk.Study({name!r}).run({arguments})"


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: found {value!r:.60}; accepted: a text")
    return value


def _of_state(label: str, text: str, stated: bool) -> Study:
    return Study._of(StudySource.of_state(label, text, stated))
