"""Algorithm 2 on plain arrays."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._backend import Backend, Precision, asked_backend
from ._native import expected_rewards, value_table, value_tables

Table = NDArray[np.float64]
Actions = NDArray[np.int32]


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
    precision: Precision | None = None,
    adapter: str | None = None,
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
    backend, precision, adapter:
        ``"auto"``, ``"cpu"`` or ``"gpu"``; ``"f32"`` or ``"f64"``; the number or a part of the name of one of
        :func:`cbwk.devices`. The CPU computes in 64 bits, an adapter in 32 unless ``precision="f64"``, which some lack; a
        RuntimeWarning says if a result is in 32 bits that you did not ask for.

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
        backend=asked_backend(backend, precision, adapter),
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
    precision: Precision | None = None,
    adapter: str | None = None,
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
        backend=asked_backend(backend, precision, adapter),
    )


@overload
def solve_many(
    rewards: ArrayLike,
    costs: ArrayLike,
    probabilities: ArrayLike,
    *,
    horizon: int,
    budget: int,
    weights: ArrayLike | None = None,
    no_arrival: ArrayLike = 0.0,
    policy: Literal[False] = False,
    backend: Backend = "auto",
    precision: Precision | None = None,
    adapter: str | None = None,
) -> Table: ...
@overload
def solve_many(
    rewards: ArrayLike,
    costs: ArrayLike,
    probabilities: ArrayLike,
    *,
    horizon: int,
    budget: int,
    weights: ArrayLike | None = None,
    no_arrival: ArrayLike = 0.0,
    policy: Literal[True],
    backend: Backend = "auto",
    precision: Precision | None = None,
    adapter: str | None = None,
) -> tuple[Table, Actions]: ...
def solve_many(
    rewards: ArrayLike,
    costs: ArrayLike,
    probabilities: ArrayLike,
    *,
    horizon: int,
    budget: int,
    weights: ArrayLike | None = None,
    no_arrival: ArrayLike = 0.0,
    policy: bool = False,
    backend: Backend = "auto",
    precision: Precision | None = None,
    adapter: str | None = None,
) -> Table | tuple[Table, Actions]:
    """:func:`solve` for many problems in one call, such as draws from a posterior: one batch for all cores, or for a GPU.

    Parameters
    ----------
    probabilities:
        Shape (problems, contexts, actions), or (problems, horizon, contexts, actions) if they differ by step.
    rewards, costs:
        Shared by all problems, shape (contexts, actions), or with a leading axis of problems like the probabilities.
    horizon, budget, weights, no_arrival:
        As in :func:`solve`, shared by all problems.
    policy:
        Whether to return the best actions too: (values, actions), with actions of shape (problems, horizon, contexts,
        budget + 1) and 0 for no offer.

    Returns
    -------
    Values of shape (problems, horizon + 1, budget + 1).

    Examples
    --------
    >>> import numpy as np, cbwk
    >>> draws = np.random.default_rng(1).beta(8, 4, size=(1000, 1, 2)) * [1.0, 0.6]
    >>> values, actions = cbwk.solve_many([[1.0, 2.0]], [[1, 1]], draws, horizon=10, budget=3, policy=True)
    >>> values.shape, actions.shape
    ((1000, 11, 4), (1000, 10, 1, 4))
    """
    values, actions = value_tables(
        rewards,
        costs,
        probabilities,
        horizon=horizon,
        budget=budget,
        weights=weights,
        no_arrival=no_arrival,
        policy=bool(policy),
        backend=asked_backend(backend, precision, adapter),
    )
    return values if actions is None else (values, actions)


def evaluate(
    policy: ArrayLike,
    rewards: ArrayLike,
    costs: ArrayLike,
    probabilities: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    no_arrival: ArrayLike = 0.0,
) -> Table:
    """The exact expected reward of an episode under a given policy, from every starting budget: shape (budget + 1,).

    ``policy`` has an action for every step, context and number of units left, shape (horizon, contexts, budget + 1), as
    :func:`solve_many` returns it; or, along a last axis of length actions + 1, the probability of each action, no offer first.
    The other arguments are the truth, as in :func:`solve`.

    >>> import cbwk
    >>> values, actions = cbwk.solve_many([[1.0, 2.0]], [[1, 1]], [[[0.7, 0.4]]], horizon=2, budget=1, policy=True)
    >>> cbwk.evaluate(actions[0], [[1.0, 2.0]], [[1, 1]], [[0.7, 0.4]]).round(2)
    array([0.  , 1.28])
    """
    return expected_rewards(policy, rewards, costs, probabilities, weights=weights, no_arrival=no_arrival)


def decode(column: tuple[list[str], NDArray[Any]]) -> NDArray[np.str_]:
    """A column of names from the distinct names and the index of each row."""
    names, numbers = column
    return np.array(names, dtype=np.str_)[numbers] if names else np.array([], dtype=np.str_)
