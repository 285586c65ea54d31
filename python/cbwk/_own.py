"""Oracles and policies of your own, vectorised."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._task import Task

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Oracle:
    """Confidence bounds of your own: subclass it, and use it in a study or a :class:`cbwk.Learner`.

    In a study, put the class where a study file has the oracle's table: ``{"kind": "tight-opt-dp", "name": "mine",
    "oracle": Mine}``. Every replication has an object of its own, made with the task.

    Cost: per replication and episode one call of :meth:`fit`, one of :meth:`bounds` per 512 contexts of the plan that are
    new since the fit, and one for the contexts of the next episode that are; never one per step.

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
    """Whether bounds hold at all times at once: then ``delta`` is the same at every fit, else it falls as delta / t^2."""

    by_step: bool = False
    """Whether bounds depend on the step beyond the context."""

    wide_at_first: bool = False
    """Whether bounds say next to nothing of an action until it was tried often; ``optimism = "auto"`` asks."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def fit(self, contexts: Floats, steps: Ints, actions: Ints, accepted: NDArray[np.bool_], delta: float) -> None:
        """Learns from all observations so far: contexts (n, features), steps and actions from 1, and what came of them."""
        raise NotImplementedError(f"{type(self).__name__}.fit")

    def bounds(self, contexts: Floats, steps: Ints) -> tuple[ArrayLike, ArrayLike]:
        """Lower and upper bounds of acceptance, each of shape (n, actions). Asked after the first fit only."""
        raise NotImplementedError(f"{type(self).__name__}.bounds")


class Policy:
    """A policy of your own in a study: subclass it, and name the class among ``policies``.

    One object plays all replications of a wave (as many as fit into memory, often all). Override :meth:`decide` for a rule
    that is fixed during an episode: one call per wave and episode. Override :meth:`choose` for one that changes on the way:
    one call per arrival, which costs some microseconds more each. An action that is infeasible counts as 0.

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
    """What results call it; the name of the class by default."""

    def __init__(self, task: Task, seeds: NDArray[np.uint64]) -> None:
        self.task = task
        self.seeds = seeds
        """One for each replication of the wave, for randomness that does not depend on how waves are cut."""

    def decide(self, episode: int, budget: int, contexts: Floats, steps: Ints, replications: Ints) -> ArrayLike:
        """The action for every context and every number of units left, shape (n, budget + 1).

        The contexts (n, features) are all of the episode in all replications, so that one call serves; a row must not
        depend on later rows of the same replication.
        """
        raise NotImplementedError(f"{type(self).__name__}.decide")

    def choose(self, replication: int, step: int, context: Floats, budget: int) -> int:
        """The action for one arrival with ``budget`` units left."""
        raise NotImplementedError(f"{type(self).__name__}.choose")

    def learn(
        self,
        episode: int,
        contexts: Floats,
        steps: Ints,
        replications: Ints,
        actions: Ints,
        accepted: NDArray[np.bool_],
    ) -> None:
        """What came of the episode in all replications; actions that were infeasible are 0."""
