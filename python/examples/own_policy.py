"""A policy of your own beside the built-in ones: dual descent, which moves a price of the budget after every outcome."""

import sys

import cbwk
import numpy as np


class DualDescent(cbwk.Policy):
    """Offers what maximises (reward - price x cost) x estimated probability; the price follows the spending."""

    def __init__(self, step_size=0.1):
        self.step_size = step_size

    def start_episode(self, replications, episode, budget):
        self.rate = budget / self.task.horizon
        if episode == 1:
            self.price = np.zeros(len(replications))
            self.accepted, self.offered = np.ones((2, len(replications), self.task.actions))

    def choose(self, replication, step, context, budget):
        profit = self.task.rewards([context])[0] - self.price[replication] * self.task.costs([context])[0]
        chance = self.accepted[replication] / (self.offered[replication] + 1)
        return int(np.argmax(np.append(0, chance * profit)))

    def observe(self, replication, step, context, action, accepted):
        spent = 0
        if action:
            self.offered[replication, action - 1] += 1
            self.accepted[replication, action - 1] += accepted
            spent = accepted * self.task.costs([context])[0, action - 1]
        self.price[replication] = max(0, self.price[replication] + self.step_size * (spent - self.rate))


small = "--small" in sys.argv
study = cbwk.Study.preset("paper-auction")
results = study.run(
    replications=2 if small else 20,
    episodes=20 if small else 200,
    policies=["tight-opt-dp", "logistic-ucb1", DualDescent(step_size=0.2), "clairvoyant"],
)
for policy, regret in results.final_regret().items():
    print(f"{policy:<14} regret {regret!r}")
for warning in results.warnings:
    print("warning:", warning)
