"""Episodic contextual bandits with knapsacks under conversion models.

Learn acceptance probabilities while a budget, which is refilled every episode, runs down. Plans are made by dynamic
programming in compiled code; studies, plans and the live learner take and return NumPy arrays.

>>> import cbwk
>>> results = cbwk.Study.preset("paper-auction").run(replications=2, policies=["tight-opt-dp", "clairvoyant"])
>>> sorted(results.episodes)[:3]
['b_t', 'cumulative_regret', 'episode']

Actions are numbered from 1; action 0 means no offer. Steps and episodes are numbered from 1, rows of value tables from 0.
"""

from ._backend import devices
from ._learner import Day, Learner, Offer
from ._native import __version__
from ._own import Oracle, Policy
from ._plans import evaluate, optimistic_plan, solve, solve_many
from ._results import Estimate, Results
from ._study import Study, presets
from ._sweep import Sweep, SweepResults
from ._task import Task

__all__ = [
    "Day",
    "Estimate",
    "Learner",
    "Offer",
    "Oracle",
    "Policy",
    "Results",
    "Study",
    "Sweep",
    "SweepResults",
    "Task",
    "__version__",
    "devices",
    "evaluate",
    "optimistic_plan",
    "presets",
    "solve",
    "solve_many",
]
