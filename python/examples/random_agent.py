"""An agent in the Gymnasium environment, with the masks that stable-baselines3's maskable agents ask for. A DQN takes the
same environment: ``stable_baselines3.DQN("MlpPolicy", cbwk.gym.Environment("paper-auction")).learn(10_000)``."""

import sys

import cbwk.gym

episodes = 20 if "--small" in sys.argv else 200
env = cbwk.gym.Environment("paper-auction")
total = 0.0
for episode in range(episodes):
    observation, info = env.reset(seed=1 if episode == 0 else None)
    env.action_space.seed(1 if episode == 0 else None)
    terminated = False
    while not terminated:
        action = env.action_space.sample(info["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
        total += reward
print(f"{total / episodes:.2f} per episode; the best policy that knows everything earns 9.21")
