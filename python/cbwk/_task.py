"""Tasks: what a decision maker knows in advance."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._native import TaskHandle

if TYPE_CHECKING:
    from ._study import Study


def whole(name: str, value: object, least: int, most: int) -> int:
    """A whole number, or a ValueError."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise ValueError(f"{name}: found {value!r:.60}; accepted: a whole number from {least} to {most}")
    return number


class Task:
    """Steps, actions with their rewards and costs, the form of contexts, the largest budget.

    Exactly one of ``prices`` (sell a unit at a price), ``wages`` (hire at a wage), ``bids`` (buy at auction; contexts are
    values) or ``rewards`` with ``costs`` (by context type and action) defines the actions.

    Parameters
    ----------
    features:
        Number of features of a context.
    sizes:
        The largest size of each feature, 1 by default; some bounds are scaled by it.
    types:
        The context types, shape (types, features), if contexts are of known types; for tables the default is one feature
        with values 1, 2, ...
    reward_max:
        The largest reward, if it does not follow from the rest.

    Examples
    --------
    >>> import cbwk
    >>> task = cbwk.Task(horizon=24, budget=10, prices=[80, 100, 120], features=2)
    >>> task
    Task(horizon=24, budget=10, prices=[80.0, 100.0, 120.0], features=2)
    >>> task.rewards([[0.5, 0.2]])
    array([[ 80., 100., 120.]])
    """

    def __init__(
        self,
        *,
        horizon: int,
        budget: int,
        prices: ArrayLike | None = None,
        wages: ArrayLike | None = None,
        bids: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        features: int = 1,
        sizes: ArrayLike | None = None,
        types: ArrayLike | None = None,
        reward_max: float | None = None,
    ) -> None:
        given = {"prices": prices, "wages": wages, "bids": bids}
        stated = [name for name, values in given.items() if values is not None]
        tables = (rewards is not None) + (costs is not None)
        if len(stated) + (tables > 0) != 1 or tables == 1:
            found = stated + ["rewards"] * (rewards is not None) + ["costs"] * (costs is not None)
            raise ValueError(
                f"task: found {', '.join(found) or 'nothing'}; accepted: one of prices, wages, bids, or rewards and costs"
            )
        if tables and types is None:
            types = 1.0 + np.arange(len(np.asarray(rewards)))[:, np.newaxis]
        self._kind = stated[0] if stated else "rewards"
        if reward_max is not None and not isinstance(reward_max, (int, float, np.number)):
            raise ValueError(f"reward_max: found {reward_max!r:.60}; accepted: a number from 0")
        arguments: tuple[Any, ...] = (
            whole("horizon", horizon, 1, 100_000),
            whole("budget", budget, 0, 2**32 - 1),
            self._kind,
            given.get(self._kind),
            (rewards, costs) if tables else None,
            whole("features", features, 0, 10_000),
            sizes,
            types,
            None if reward_max is None else float(reward_max),
        )
        self._handle = TaskHandle(*arguments)
        self._recipe: tuple[Any, ...] | Study = arguments

    @classmethod
    def of_study(cls, study: Study) -> Task:
        """The task of a study's world."""
        task = cls.of_handle(TaskHandle.of_study(study._source))
        task._recipe = study
        return task

    @classmethod
    def of_handle(cls, handle: TaskHandle) -> Task:
        """A task of the engine, for your own oracles and policies."""
        task = cls.__new__(cls)
        task._handle = handle
        task._kind = "values"
        task._recipe = ()
        return task

    @property
    def horizon(self) -> int:
        """Steps in an episode."""
        return self._handle.horizon

    @property
    def budget(self) -> int:
        """The largest starting budget."""
        return self._handle.budget

    @property
    def actions(self) -> int:
        """Number of actions beside the null action."""
        return self._handle.actions

    @property
    def features(self) -> int:
        """Number of features of a context."""
        return self._handle.features

    @property
    def reward_max(self) -> float:
        """The largest reward."""
        return self._handle.reward_max

    @property
    def action_values(self) -> NDArray[np.float64]:
        """Prices, wages or bids; the numbers of actions for tables."""
        return self._handle.action_values()

    def rewards(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Rewards of contexts (n, features), shape (n, actions); negative if an action is infeasible."""
        return self._handle.rewards(contexts)

    def costs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Costs of contexts (n, features), shape (n, actions)."""
        return self._handle.costs(contexts)

    def __reduce__(self) -> tuple[Any, ...]:
        from ._study import Study

        if isinstance(self._recipe, Study):
            return (Task.of_study, (self._recipe,))
        if not self._recipe:
            raise TypeError("this task belongs to a running study; pickle the task of the study instead")
        return (_of_recipe, (self._recipe,))

    def __repr__(self) -> str:
        values = self.action_values.tolist()
        return f"Task(horizon={self.horizon}, budget={self.budget}, {self._kind}={values}, features={self.features})"


def _of_recipe(recipe: tuple[Any, ...]) -> Task:
    task = Task.of_handle(TaskHandle(*recipe))
    task._kind = recipe[2]
    task._recipe = recipe
    return task
