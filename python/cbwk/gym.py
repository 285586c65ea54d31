"""A Gymnasium environment of any study's world: ``pip install cbwk[gym]``.

>>> import cbwk.gym
>>> env = cbwk.gym.Environment("paper-auction")
>>> observation, info = env.reset(seed=1)
>>> observation
array([5., 1., 5.])
>>> info["action_mask"]
array([1, 1, 1, 1, 1], dtype=int8)
>>> observation, reward, terminated, truncated, info = env.step(2)
>>> bool(terminated)
False
"""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ._native import Simulation
from ._study import Study
from ._task import Task, whole

Observation = NDArray[np.float64]


class Environment(gymnasium.Env[Observation, np.int64]):
    """One episode after another in the world of a study.

    An observation is (features of the customer, step, units left); features are 0 without an arrival. Actions are 0 (no
    offer) and those of the study; ``info["action_mask"]`` says which are feasible, ``info["arrived"]`` whether a customer
    has arrived. An infeasible action counts as 0, and ``info["feasible"]`` is then False. An episode ends with its last
    step.

    ``reset(seed=s)`` starts the contexts and random draws of the study's first replication with seed ``s``; further resets
    continue with its next episodes, whose budgets are those of the study's law. ``reset(options={"budget": b})`` starts with
    ``b`` units. :meth:`action_masks` is what maskable agents of stable-baselines3 (sb3-contrib) call.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, study: Study | str | os.PathLike[str], *, replication: int = 1) -> None:
        self.study = study if isinstance(study, Study) else _study(study)
        self._replication = whole("replication", replication, 1, 10**8) - 1
        self._simulation = Simulation(self.study._source, None, self._replication)
        self.task = Task.of_study(self.study)
        features, horizon, budget = self.task.features, self.task.horizon, self.task.budget
        low = np.concatenate([np.full(features, -np.inf), [1.0, 0.0]])
        high = np.concatenate([np.full(features, np.inf), [horizon + 1.0, float(budget)]])
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float64)
        self.action_space = gymnasium.spaces.Discrete(self.task.actions + 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins the next episode; with a seed, the first one."""
        super().reset(seed=seed)
        if seed is not None:
            self._simulation = Simulation(self.study._source, seed, self._replication)
        budget = (options or {}).get("budget")
        self._simulation.begin(None if budget is None else whole("budget", budget, 0, self.task.budget))
        return self._observation()

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are feasible now."""
        return self._simulation.view()[3]

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Plays an action."""
        number = whole("action", action, 0, self.task.actions)
        feasible = bool(self._simulation.view()[3][number])
        reward, accepted, over = self._simulation.step(number if feasible else 0)
        observation, info = self._observation()
        info["accepted"] = accepted
        info["feasible"] = feasible
        return observation, reward, over, False, info

    def _observation(self) -> tuple[Observation, dict[str, Any]]:
        features, played, budget, mask = self._simulation.view()
        theta = np.zeros(self.task.features) if features is None else features
        observation = np.concatenate([theta, [played + 1.0, float(budget)]])
        return observation, {"action_mask": mask.astype(np.int8), "arrived": features is not None}


def _study(study: str | os.PathLike[str]) -> Study:
    """A preset by name, or a study file."""
    text = os.fspath(study)
    return Study.from_file(text) if text.endswith(".toml") else Study.preset(text)


gymnasium.register(id="cbwk/Episode-v0", entry_point="cbwk.gym:Environment")
