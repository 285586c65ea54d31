"""Algorithm 2 on plain arrays."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._native import value_table

Backend = Literal["auto", "cpu", "gpu"]
"""A real GPU if it is likely faster, else the CPU; the CPU; or any graphics adapter."""


def solve(
    rewards: ArrayLike,
    costs: ArrayLike,
    probabilities: ArrayLike,
    *,
    horizon: int,
    budget: int,
    weights: ArrayLike | None = None,
    no_arrival: ArrayLike = 0.0,
    backend: Backend = "auto",
) -> NDArray[np.float64]:
    """The best expected reward for every step and budget, with known conversion probabilities.

    Row ``h`` of the table is the value with steps ``h + 1`` to ``horizon`` still to come, column ``b`` that with ``b`` units
    left; the last row is 0. The best expected reward of an episode is ``table[0, budget]``.

    Parameters
    ----------
    rewards, costs, probabilities:
        Of every context and action, shape (contexts, actions) without the null action; or (horizon, contexts, actions) if
        they differ by step. Costs are whole numbers from 1; an action with a negative reward is never taken. Arrays of
        float64 in C order are not copied.
    horizon, budget:
        Steps in an episode, and the largest budget of the table.
    weights:
        Probabilities of contexts, shape (contexts,) or (horizon, contexts), scaled to sum to 1; equal by default.
    no_arrival:
        Probability of no arrival: a number, or one per step.
    backend:
        ``"auto"``, ``"cpu"`` or ``"gpu"``.

    Raises
    ------
    ValueError
        If an argument is wrong, with its position, what was found and what is accepted.
    RuntimeError
        If the backend cannot run here.

    Examples
    --------
    Two prices, one customer type, two steps, one unit. At the last step the price 2 earns 0.8; before it, 2 is worth
    asking too, because a unit kept is worth 0.8:

    >>> import cbwk
    >>> cbwk.solve([[1.0, 2.0]], [[1, 1]], [[0.7, 0.4]], horizon=2, budget=1).round(2)
    array([[0.  , 1.28],
           [0.  , 0.8 ],
           [0.  , 0.  ]])
    """
    return value_table(
        rewards,
        costs,
        probabilities,
        None,
        horizon=horizon,
        budget=budget,
        weights=weights,
        no_arrival=no_arrival,
        cap=False,
        reward_max=None,
        backend=backend,
    )


def optimistic_plan(
    rewards: ArrayLike,
    costs: ArrayLike,
    ucb: ArrayLike,
    lcb: ArrayLike,
    *,
    horizon: int,
    budget: int,
    weights: ArrayLike | None = None,
    reward_max: float | None = None,
    backend: Backend = "auto",
) -> NDArray[np.float64]:
    """Optimistic-DP: the table of :func:`solve` with upper bounds on rewards and lower bounds on consumption.

    Values are capped at ``min(b, horizon - h) * reward_max`` (the largest reward by default). ``lcb = ucb`` gives the plan
    of coupled optimism.

    Examples
    --------
    >>> import cbwk
    >>> ucb, lcb = [[0.9, 0.6]], [[0.5, 0.2]]
    >>> cbwk.optimistic_plan([[1.0, 2.0]], [[1, 1]], ucb, lcb, horizon=2, budget=1).round(2)
    array([[0. , 2. ],
           [0. , 1.2],
           [0. , 0. ]])
    """
    if lcb is None:
        raise ValueError("lcb: found None; accepted: an array of real numbers (solve takes one probability)")
    return value_table(
        rewards,
        costs,
        ucb,
        lcb,
        horizon=horizon,
        budget=budget,
        weights=weights,
        no_arrival=0.0,
        cap=True,
        reward_max=reward_max,
        backend=backend,
    )


def decode(column: tuple[list[str], NDArray[Any]]) -> NDArray[np.str_]:
    """A column of names from the distinct names and the index of each row."""
    names, numbers = column
    return np.array(names, dtype=np.str_)[numbers] if names else np.array([], dtype=np.str_)
