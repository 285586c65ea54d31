"""Results of a study."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._native import RunResults
from ._plans import decode

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, unused-ignore]
    import polars
    from matplotlib.axes import Axes

Columns = dict[str, NDArray[Any]]


class Results:
    """Results of a study, made by :meth:`cbwk.Study.run` or :meth:`load`.

    >>> import cbwk
    >>> results = cbwk.Study.preset("paper-auction").run(replications=2, policies=["myopic", "clairvoyant"])
    >>> results.summary["mean"].shape
    (400,)
    >>> len(results.episodes["reward"]) == 2 * 2 * 200
    True
    """

    def __init__(self, found: RunResults) -> None:
        self._found = found

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Results:
        """Reads the folder of a finished study, written by this package or the command line."""
        return cls(RunResults.load(folder))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the same folder as ``cbwk-gpu simulate --out``; a folder with results is refused."""
        self._found.save(folder)

    @cached_property
    def episodes(self) -> Columns:
        """``episodes.csv`` by column: policy, replication, episode, b_t, reward, opt, regret, cumulative_regret, ..."""
        return _columns(self._found.episodes())

    @cached_property
    def summary(self) -> Columns:
        """``summary.csv`` by column: cumulative regret by policy and episode, with a band of 3 standard errors."""
        return _columns(self._found.summary())

    @cached_property
    def run(self) -> dict[str, Any]:
        """``run.json``: version, backend, times, opt and the fluid bound by budget, one entry per policy."""
        found: dict[str, Any] = json.loads(self._found.run_json())
        return found

    @property
    def study(self) -> str:
        """``study.toml``: the study with every setting."""
        return self._found.study_toml()

    @property
    def name(self) -> str:
        """The study's name."""
        return self._found.name()

    @property
    def policies(self) -> list[str]:
        """Names of the policies, in the order of the study."""
        return [policy["name"] for policy in self.run["policies"]]

    def final_regret(self) -> dict[str, Estimate]:
        """Mean cumulative regret after the last episode, by policy, each with its ``standard_error`` over replications.

        >>> import cbwk
        >>> regret = cbwk.Study.preset("paper-auction").run(replications=4, policies=["myopic"]).final_regret()["myopic"]
        >>> bool(regret > 0 and regret.standard_error > 0)
        True
        """
        return {policy["name"]: Estimate.of(policy["final_regret"], policy["standard_error"]) for policy in self.run["policies"]}

    @property
    def warnings(self) -> list[str]:
        """What to know before trusting the results, policy by policy."""
        return [f"{policy['name']}: {text}" for policy in self.run["policies"] for text in policy.get("warnings", [])]

    def compare(self, policies: Iterable[str] = (), *, band: Literal["3se", "normal", "bootstrap"] = "normal") -> Columns:
        """Final regrets of all pairs of policies compared: both of a pair had the same contexts and random draws.

        Columns ``policy``, ``minus`` (the one with the lower regret), ``difference``, ``lower`` and ``upper`` (3 standard errors,
        95% by the normal law, or 95% by the bootstrap), ``p`` of a paired t-test and ``p_holm``, corrected for all pairs.

        >>> import cbwk
        >>> results = cbwk.Study.preset("paper-auction").run(replications=4, policies=["myopic", "clairvoyant", "fixed:1"])
        >>> found = results.compare(["myopic", "clairvoyant"])
        >>> [(str(one), str(other)) for one, other in zip(found["policy"], found["minus"])]
        [('myopic', 'clairvoyant')]
        >>> bool(found["lower"][0] > 0)
        True
        """
        if isinstance(policies, str):
            raise ValueError(f"policies: found {policies!r:.60}; accepted: a list of names")
        pairs = json.loads(self._found.comparison(list(policies), band))["pairs"]
        texts = {key: np.array([pair[key] for pair in pairs], dtype=np.str_) for key in ("policy", "minus")}
        numbers = ("difference", "lower", "upper", "p", "p_holm")
        return {**texts, **{key: np.array([pair[key] for pair in pairs], dtype=np.float64) for key in numbers}}

    def plot(self, axes: Axes | None = None) -> Axes:
        """Curves of cumulative regret with bands of 3 standard errors, by matplotlib (``pip install cbwk[plots]``)."""
        import matplotlib.pyplot as plt

        axes = plt.subplots(figsize=(7, 4.5), layout="constrained")[1] if axes is None else axes
        summary = self.summary
        for policy in self.policies:
            own = summary["policy"] == policy
            (line,) = axes.plot(summary["episode"][own], summary["mean"][own], label=policy)
            band = (summary["lower"][own], summary["upper"][own])
            axes.fill_between(summary["episode"][own], *band, color=line.get_color(), alpha=0.2, linewidth=0)
        axes.set(xlabel="episode", ylabel="cumulative regret", title=f"{self.name}, ± 3 s.e.")
        axes.legend(frameon=False)
        return axes

    def to_pandas(self, table: str = "episodes") -> pandas.DataFrame:
        """``"episodes"`` or ``"summary"`` as a pandas frame."""
        import pandas

        return pandas.DataFrame(self._table(table))

    def to_polars(self, table: str = "episodes") -> polars.DataFrame:
        """``"episodes"`` or ``"summary"`` as a polars frame."""
        import polars

        return polars.DataFrame(self._table(table))

    def to_svg(self) -> str:
        """``regret.svg``: the curves with their bands."""
        return self._found.svg()

    def _table(self, table: str) -> Columns:
        if table not in ("episodes", "summary"):
            raise ValueError(f"table: found {table!r:.60}; accepted: 'episodes', 'summary'")
        return self.episodes if table == "episodes" else self.summary

    def __str__(self) -> str:
        return self._found.table()

    def __repr__(self) -> str:
        run = self.run
        return f"Results({self.name!r}, replications={run['replications']}, policies={self.policies}, {_computed(run)})"

    def _repr_html_(self) -> str:
        run = self.run
        about = f"{run['replications']} replications of {run['episodes']} episodes, {run['horizon']} steps, {_computed(run)}"
        heads = ["policy", "regret", "± 3 s.e.", "reward per episode", "share of opt", "slope", "seconds"]
        rows = "".join(_row(_cells(policy)) for policy in run["policies"])
        notes = "".join(f"<p style='margin:0 0 4px'><b>warning:</b> {html.escape(text)}</p>" for text in self.warnings)
        # The picture has a light background, also on dark pages.
        return (
            f"<div><p style='margin:0 0 8px'><b>{html.escape(self.name)}</b>: {html.escape(about)}</p>"
            "<table style='border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0 0 12px'>"
            f"<thead style='border-bottom:1px solid #888'>{_row(heads, 'th')}</thead><tbody>{rows}</tbody></table>{notes}"
            "<div style='display:inline-block;max-width:100%;overflow-x:auto;background:#fff;border-radius:6px'>"
            f"{self.to_svg()}</div></div>"
        )


class Estimate(float):
    """A mean with its standard error; NaN where it cannot be known. Printed with 3 standard errors.

    >>> import cbwk
    >>> found = cbwk.Estimate.of(12.5, 0.25)
    >>> found, found > 12, found.standard_error
    (12.5 ± 0.75, True, 0.25)
    """

    standard_error: float

    @classmethod
    def of(cls, mean: float | None, standard_error: float | None) -> Estimate:
        """From numbers that may be missing."""
        made = cls(np.nan if mean is None else mean)
        made.standard_error = float(np.nan if standard_error is None else standard_error)
        return made

    def __repr__(self) -> str:
        return f"{float(self):.6g} ± {3 * self.standard_error:.2g}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Estimate.of, (float(self), self.standard_error))


def _computed(run: dict[str, Any]) -> str:
    """How the numbers were computed."""
    on = f" on {run['adapter']}" if run.get("adapter") else ""
    return f"{run['backend']} {run['precision']}{on}"


def _cells(policy: dict[str, Any]) -> list[str]:
    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    error = policy["standard_error"]
    return [
        html.escape(policy["name"]),
        number(policy["final_regret"], ".1f"),
        number(None if error is None else 3 * error, ".1f"),
        number(policy["mean_reward"], ".3f"),
        number(policy["share_of_opt"], ".1%"),
        number(policy["slope"], ".2f"),
        number(policy["seconds"], ".2f"),
    ]


def _row(cells: list[str], tag: str = "td") -> str:
    style = "padding:3px 8px 3px 0;text-align:left"
    row = ""
    for cell in cells:
        row += f"<{tag} style='{style}'>{cell}</{tag}>"
        style = "padding:3px 8px;text-align:right"
    return f"<tr>{row}</tr>"


def _columns(found: dict[str, Any]) -> Columns:
    columns = {name: decode(column) if name == "policy" else np.asarray(column) for name, column in found.items()}
    for column in columns.values():
        column.flags.writeable = False
    return columns
