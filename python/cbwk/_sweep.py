"""Sweeps: a study with every combination of some values."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._entry import policies as described
from ._results import Results

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, unused-ignore]

    from ._study import Study


class Sweep:
    """The points of a sweep, made by :meth:`cbwk.Study.sweep`.

    >>> import cbwk
    >>> sweep = cbwk.Study.preset("paper-auction").sweep({"study.delta": [0.1, 0.2]})
    >>> len(sweep.run(replications=1, policies=["tight-opt-dp"]))
    2
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def run(self, *, out: str | os.PathLike[str] | None = None, **options: Any) -> SweepResults:
        """Runs every point with the options of :meth:`cbwk.Study.run`. A policy that no swept key affects runs once.

        ``out`` is a folder with one folder per point, which ``cbwk-gpu report``, ``status`` and ``verify`` read.
        """
        source, objects = self._study._source, list(self._study._objects)
        keys = ("replications", "seed", "episodes", "horizon", "budget", "delta", "reference")
        changes = {key: options.get(key) for key in keys}
        if options.get("policies") is not None:
            options["policies"] = list(options["policies"])
            changes["policies"] = described(options["policies"], objects)
        title, names, values, labels = source.points(changes)
        if out is not None:
            folder = Path(out)
            if folder.exists() and any(folder.iterdir()):
                raise ValueError(f"out: found `{folder}`, which is not empty; accepted: a new or empty folder")
        results = []
        for number, label in enumerate(labels):
            point = type(self._study)._of(source.at(number), self._study._objects)
            results.append(point.run(out=None if out is None else folder / label, **options))
        if out is not None:
            points = [{"label": label, "values": one} for label, one in zip(labels, values)]
            index = {"title": title, "keys": names, "points": points}
            (folder / "sweep.json").write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return SweepResults(names, values, results)


class SweepResults:
    """The results of a sweep: a list of :class:`cbwk.Results`, one per point.

    >>> import cbwk
    >>> sweep = cbwk.Study.preset("paper-auction").sweep({"budget.value": [2, 4]})
    >>> found = sweep.run(replications=1, policies=["clairvoyant", "myopic"])
    >>> [str(name) for name in found.overview["policy"]]
    ['clairvoyant', 'myopic', 'clairvoyant', 'myopic']
    """

    def __init__(self, keys: list[str], values: list[list[str]], results: list[Results]) -> None:
        self.keys = keys
        """Paths of the swept keys."""
        self.points = [dict(zip(keys, one)) for one in values]
        """The values of each point as text; empty if the key does not affect the point's policies."""
        self.results = results
        """The results of each point."""

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, number: int) -> Results:
        return self.results[number]

    def __iter__(self) -> Iterator[Results]:
        return iter(self.results)

    @property
    def overview(self) -> dict[str, NDArray[Any]]:
        """One row per point and policy: the swept keys, ``policy``, ``final_regret``, ``standard_error``, ``mean_reward``."""
        rows: list[dict[str, Any]] = []
        for point, results in zip(self.points, self.results):
            for policy in results.run["policies"]:
                numbers = {key: policy[key] for key in ("final_regret", "standard_error", "mean_reward")}
                numbers = {key: np.nan if value is None else value for key, value in numbers.items()}
                rows.append({**point, "policy": policy["name"], **numbers})
        return {key: np.array([row[key] for row in rows]) for key in rows[0]} if rows else {}

    def to_pandas(self) -> pandas.DataFrame:
        """:attr:`overview` as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.overview)

    def __repr__(self) -> str:
        return f"SweepResults({len(self)} points of {', '.join(self.keys)})"
