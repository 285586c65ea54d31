"""Base classes for your own oracles and policies, vectorised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._task import Task

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Oracle:
    """Base class for your own confidence bounds, in a study or a :class:`cbwk.Learner`.

    In a study it replaces the oracle's table, in any policy that takes an oracle: ``{"kind": "tight-opt-dp", "name": "mine",
    "oracle": Mine}``. It may be a class, an object such as ``Mine(prior=2)``, or a function of the task that makes one: every
    replication has its own, which knows its ``task``. A class whose ``__init__`` takes ``task`` is made with it.

    Cost for the learners: per replication and episode one call of :meth:`fit`, one of :meth:`bounds` per 512 contexts of the
    plan that are new since the fit, and one for the new contexts of the next episode; never one per step. Policies that
    learn within an episode (``myopic``, ``square-cbwk``) call both at every arrival.

    Examples
    --------
    >>> import numpy as np, cbwk
    >>> class Hoeffding(cbwk.Oracle):
    ...     anytime = False
    ...     def fit(self, contexts, steps, actions, accepted, delta):
    ...         n = np.bincount(actions, minlength=self.task.actions + 1)[1:]
    ...         s = np.bincount(actions, weights=accepted, minlength=self.task.actions + 1)[1:]
    ...         mean = np.divide(s, n, out=np.full(len(n), 0.5), where=n > 0)
    ...         radius = np.where(n > 0, np.sqrt(np.log(2 / delta) / (2 * np.maximum(n, 1))), 1.0)
    ...         self.lcb, self.ucb = np.clip([mean - radius, mean + radius], 0, 1)
    ...     def bounds(self, contexts, steps):
    ...         shape = (len(contexts), self.task.actions)
    ...         return np.broadcast_to(self.lcb, shape), np.broadcast_to(self.ucb, shape)
    >>> study = cbwk.Study.preset("paper-auction")
    >>> own = {"kind": "mimic-opt-dp", "name": "hoeffding", "oracle": Hoeffding}
    >>> results = study.run(replications=1, policies=["clairvoyant", own])
    >>> list(np.unique(results.summary["policy"]))
    [np.str_('clairvoyant'), np.str_('hoeffding')]
    """

    anytime: bool = False
    """Whether bounds hold at all times simultaneously: then ``delta`` is the same at every fit, else it falls as delta / t^2."""

    by_step: bool = False
    """Whether bounds depend on the step beyond the context."""

    task: Task
    """The known part of the study; set before the first call."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._arguments = (args, kwargs)
        return made

    def __init__(self, task: Task | None = None) -> None:
        if task is not None:
            self.task = task

    def fit(self, contexts: Floats, steps: Ints, actions: Ints, accepted: NDArray[np.bool_], delta: float) -> None:
        """Learns from all observations so far: contexts (n, features), steps and actions from 1, and outcomes."""
        raise NotImplementedError(f"{type(self).__name__}.fit")

    def bounds(self, contexts: Floats, steps: Ints) -> tuple[ArrayLike, ArrayLike]:
        """Lower and upper bounds of acceptance, each of shape (n, actions). Called only after a fit."""
        raise NotImplementedError(f"{type(self).__name__}.bounds")


class Policy:
    """Base class for your own policy in a study; pass it in ``policies``.

    It may be a class, an object such as ``Mine(rate=0.5)``, or a function of ``(task, seeds)`` that makes one. One object, a
    copy of yours, plays all replications of a wave (as many as fit into memory, often all); it knows its ``task`` and
    ``seeds`` before the first call. A class whose ``__init__`` takes ``task`` is made with both.

    Override :meth:`decide` for a rule that is fixed during an episode: one call per wave and episode. Override :meth:`choose`
    for one that changes within an episode: one call per arrival, which costs a few microseconds each; :meth:`observe` tells
    each outcome at once. Replications run on several threads: use what belongs to ``replication`` alone, and no common random
    generator. An infeasible action counts as 0.

    Examples
    --------
    Spend evenly: the dearest bid that the budget per remaining step allows.

    >>> import numpy as np, cbwk
    >>> class Pacing(cbwk.Policy):
    ...     name = "pacing"
    ...     def decide(self, episode, budget, contexts, steps, replications):
    ...         left = self.task.horizon + 1 - steps
    ...         rate = np.maximum(3 * np.arange(budget + 1) / left[:, np.newaxis], 1)
    ...         affordable = self.task.costs(contexts)[:, np.newaxis, :] <= rate[:, :, np.newaxis]
    ...         worth = self.task.rewards(contexts)[:, np.newaxis, :] >= 0
    ...         numbers = np.arange(1, self.task.actions + 1)
    ...         return np.max(np.where(affordable & worth, numbers, 0), axis=2)
    >>> results = cbwk.Study.preset("paper-auction").run(replications=1, policies=["myopic", Pacing])
    >>> regret = results.final_regret()
    >>> bool(regret["pacing"] < regret["myopic"])
    True
    """

    name: str | None = None
    """Name in results; the name of the class by default."""

    task: Task
    """The known part of the study; set before the first call."""

    seeds: NDArray[np.uint64]
    """One for each replication of the wave, for randomness that does not depend on the sizes of waves."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._arguments = (args, kwargs)
        return made

    def __init__(self, task: Task | None = None, seeds: NDArray[np.uint64] | None = None) -> None:
        if task is not None and seeds is not None:
            self.task, self.seeds = task, seeds

    def start_episode(self, replications: Ints, episode: int, budget: int) -> None:
        """Called before the first decision of an episode, which starts with ``budget`` units. ``replications`` are the
        numbers of the wave's replications, from 0, by which :meth:`choose` and :meth:`observe` name them."""

    def decide(self, episode: int, budget: int, contexts: Floats, steps: Ints, replications: Ints) -> ArrayLike:
        """The action for every context and every number of units left, shape (n, budget + 1).

        The contexts (n, features) are those of the whole episode in all replications; a row must not depend on later rows
        of the same replication.
        """
        raise NotImplementedError(f"{type(self).__name__}.decide")

    def choose(self, replication: int, step: int, context: Floats, budget: int) -> int:
        """The action for one arrival with ``budget`` units left."""
        raise NotImplementedError(f"{type(self).__name__}.choose")

    def observe(self, replication: int, step: int, context: Floats, action: int, accepted: bool) -> None:
        """Receives the outcome of an arrival, before the next one; action 0 is no offer."""

    def learn(
        self,
        episode: int,
        contexts: Floats,
        steps: Ints,
        replications: Ints,
        actions: Ints,
        accepted: NDArray[np.bool_],
    ) -> None:
        """Receives the outcomes of the episode in all replications; infeasible actions are 0."""
