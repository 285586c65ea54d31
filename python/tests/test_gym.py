"""The Gymnasium environment."""

from __future__ import annotations

import warnings

import cbwk
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")


@pytest.mark.parametrize("preset", ["paper-auction", "paper-pricing", "rush-hour-pricing"])
def test_the_checks_of_gymnasium(preset):
    import cbwk.gym
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        # Features have no bounds that everybody knows.
        warnings.filterwarnings("ignore", message=".*(infinity|unbounded|observation space).*")
        check_env(cbwk.gym.Environment(preset), skip_render_check=True)


def test_it_plays_a_replication_of_the_study():
    import cbwk.gym

    study = cbwk.Study.preset("paper-auction")
    expected = study.run(replications=1, policies=["fixed:1"]).episodes["reward"][:20]
    env = cbwk.gym.Environment(study)
    earned = []
    for episode in range(20):
        observation, info = env.reset(seed=study.seed if episode == 0 else None)
        total, over, steps = 0.0, False, 0
        while not over:
            assert info["action_mask"][0] == 1 and observation[1] == steps + 1
            observation, reward, over, truncated, info = env.step(1)
            total, steps = total + reward, steps + 1
            assert not truncated
        assert steps == 24
        earned.append(total)
    assert earned == expected.tolist() and sum(earned) > 0


def test_budgets_and_masks():
    import cbwk.gym

    env = gymnasium.make("cbwk/Episode-v0", study="paper-auction", disable_env_checker=True)
    observation, info = env.reset(seed=3, options={"budget": 1})
    assert observation[2] == 1 and set(np.flatnonzero(info["action_mask"])) <= {0, 1}
    env.reset(options={"budget": 0})
    *_, info = env.step(1)
    assert info["feasible"] is False and info["accepted"] is False
    with pytest.raises(ValueError, match="budget"):
        env.reset(options={"budget": 6})
    with pytest.raises(ValueError, match="action"):
        env.unwrapped.step(9)
