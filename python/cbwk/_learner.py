"""The live learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._native import LiveLearner
from ._own import Oracle
from ._backend import Backend, Precision, asked_backend
from ._task import Task, whole


class Offer(NamedTuple):
    """An offer to a customer."""

    number: int
    """Identifies the offer when its outcome is observed later."""
    action: int
    """The action; 0 is no offer."""
    value: float | None
    """The price, wage or bid; ``None`` without an offer."""
    cost: int
    """Units that an acceptance consumes, held until the outcome is known."""
    reward: float
    """Reward of an acceptance."""
    lower: float
    """Lower confidence bound of its acceptance."""
    upper: float
    """Upper confidence bound of its acceptance."""
    opportunity_cost: float
    """Value of the units in the rest of the episode."""
    planned: float
    """The acceptance probability that the plan uses, at most ``upper``."""


class Day(NamedTuple):
    """Totals of an episode."""

    episode: int
    reward: float
    spent: int
    observations: int
    replanned: bool


class Learner:
    """Learns and decides for one real decision maker: begin, decide, observe, end. It can be pickled at any time, and
    resumes exactly.

    Parameters
    ----------
    task:
        The known part of the problem.
    oracle:
        How acceptance is learnt: a table as in a study file, or an object of a subclass of :class:`cbwk.Oracle`.
    policy:
        ``"tight-opt-dp"`` (default), ``"mimic-opt-dp"`` or ``"thompson-opt-dp"``; or a table with its settings.
    delta:
        Bounds hold with probability 1 - delta.
    seed, episodes:
        Seed of posterior draws; number of episodes, which the radii of some of the paper's oracles depend on.
    backend, precision, adapter:
        Where plans are computed: see :func:`cbwk.solve`.

    Examples
    --------
    >>> import cbwk
    >>> task = cbwk.Task(horizon=3, budget=2, prices=[1.0, 2.0], features=1)
    >>> learner = cbwk.Learner(task, oracle={"kind": "armed"})
    >>> learner.begin(2)
    1
    >>> offer = learner.decide(1, [0.5])
    >>> offer.value, offer.lower, offer.upper
    (2.0, 0.0, 1.0)
    >>> learner.observe(True)
    >>> learner.budget
    1
    >>> learner.end()
    Day(episode=1, reward=2.0, spent=1, observations=0, replanned=False)
    """

    def __init__(
        self,
        task: Task,
        oracle: Mapping[str, Any] | Oracle | None = None,
        policy: str | Mapping[str, Any] = "tight-opt-dp",
        *,
        delta: float = 0.1,
        seed: int = 1,
        episodes: int = 1000,
        backend: Backend = "auto",
        precision: Precision | None = None,
        adapter: str | None = None,
    ) -> None:
        if not isinstance(task, Task):
            raise ValueError(f"task: found {task!r:.60}; accepted: a cbwk.Task")
        settings: dict[str, Any] = {"kind": policy} if isinstance(policy, str) else dict(policy)
        if isinstance(delta, bool) or not isinstance(delta, (int, float, np.number)):
            raise ValueError(f"delta: found {delta!r:.60}; accepted: a number between 0 and 1")
        self._recipe: dict[str, Any] = {
            "task": task,
            "oracle": oracle if isinstance(oracle, Oracle) else dict(oracle or {}),
            "policy": settings,
            "delta": float(delta),
            "seed": whole("seed", seed, 0, 2**64 - 1),
            "episodes": whole("episodes", episodes, 1, 10**8),
            "backend": asked_backend(backend, precision, adapter),
        }
        self._start(None)

    def _start(self, state: str | None) -> None:
        recipe = self._recipe
        self._learner = LiveLearner(
            recipe["task"]._handle,
            recipe["policy"],
            recipe["oracle"],
            own=isinstance(recipe["oracle"], Oracle),
            delta=recipe["delta"],
            seed=recipe["seed"],
            episodes=recipe["episodes"],
            backend=recipe["backend"],
            state=state,
        )

    @property
    def task(self) -> Task:
        """The known part of the problem."""
        task: Task = self._recipe["task"]
        return task

    @property
    def episode(self) -> int | None:
        """Number of the open episode."""
        return self._learner.status()[0]

    @property
    def budget(self) -> int | None:
        """Units left in the open episode, including those held by open offers."""
        return self._learner.status()[1]

    @property
    def held(self) -> int:
        """Units held by offers without an outcome."""
        return self._learner.status()[2]

    @property
    def observations(self) -> int:
        """Number of labeled observations."""
        return self._learner.status()[3]

    @property
    def plan(self) -> NDArray[np.float64]:
        """The value table of the current plan, with the layout of :func:`cbwk.optimistic_plan`."""
        return self._learner.plan()

    def begin(self, budget: int) -> int:
        """Begins an episode with ``budget`` units; returns its number."""
        return self._learner.begin(whole("budget", budget, 0, 2**32 - 1))

    def decide(self, step: int, features: ArrayLike) -> Offer:
        """The offer to a customer with these features who arrives at ``step`` (from 1)."""
        return Offer(*self._learner.decide(whole("step", step, 0, 2**32), features))

    def observe(self, accepted: bool, number: int | None = None) -> None:
        """Records the outcome of the only open offer, or of the one with this number, also after the episode's end."""
        if not isinstance(accepted, (bool, np.bool_)) and accepted not in (0, 1):
            raise ValueError(f"accepted: found {accepted!r:.60}; accepted: True or False")
        known = None if number is None else whole("number", number, 0, 2**64 - 1)
        self._learner.observe(bool(accepted), known)

    def withdraw(self, number: int) -> None:
        """Removes an offer whose outcome will never be known, and releases its units."""
        self._learner.withdraw(whole("number", number, 0, 2**64 - 1))

    def end(self) -> Day:
        """Ends the episode: learns from it, and plans the next."""
        return Day(*self._learner.end())

    def extend(
        self, contexts: ArrayLike, steps: ArrayLike, actions: ArrayLike, accepted: ArrayLike, *, replan: bool = True
    ) -> int:
        """Adds labeled rows, such as a log, and replans at once; returns their number.

        >>> import cbwk
        >>> task = cbwk.Task(horizon=3, budget=2, prices=[1.0, 2.0], features=1)
        >>> learner = cbwk.Learner(task, oracle={"kind": "armed"})
        >>> learner.extend([[0.1], [0.7]], steps=[1, 3], actions=[2, 2], accepted=[True, False])
        2
        """
        arrays = [np.asarray(column) for column in (steps, actions, accepted)]
        for name, array in zip(("steps", "actions", "accepted"), arrays):
            if array.ndim != 1:
                raise ValueError(f"{name}: found {array.ndim} dimensions; accepted: one")
        return self._learner.extend(self.task._handle, contexts, arrays[0], arrays[1], arrays[2], bool(replan))

    def extend_contexts(self, rows: ArrayLike) -> int:
        """Adds contexts of whole episodes without outcomes, shape (episodes, horizon, features); NaN is no arrival."""
        return self._learner.extend_contexts(self.task._handle, rows)

    def replan(self) -> None:
        """Fits the oracle and replans with all data."""
        self._learner.replan()

    def __getstate__(self) -> dict[str, Any]:
        return {"recipe": self._recipe, "state": self._learner.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._recipe = state["recipe"]
        self._start(state["state"])

    def __repr__(self) -> str:
        oracle = self._recipe["oracle"]
        kind = type(oracle).__name__ if isinstance(oracle, Oracle) else oracle.get("kind", "armed")
        return f"Learner({self.task!r}, oracle={kind!r}, observations={self.observations})"
