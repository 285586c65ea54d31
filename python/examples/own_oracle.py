"""An oracle of your own beside ours, in one study: frequencies with Wilson intervals, per action."""

import sys

import cbwk
import numpy as np


class Wilson(cbwk.Oracle):
    def fit(self, contexts, steps, actions, accepted, delta):
        arms = self.task.actions + 1
        n = np.bincount(actions, minlength=arms)[1:]
        s = np.bincount(actions, weights=accepted, minlength=arms)[1:]
        z2 = 2 * np.log(1 / delta)
        p = s / np.maximum(n, 1)
        middle = (p + z2 / np.maximum(2 * n, 1)) / (1 + z2 / np.maximum(n, 1))
        radius = np.sqrt(z2 * (p * (1 - p) + z2 / np.maximum(4 * n, 1)) / np.maximum(n, 1)) / (1 + z2 / np.maximum(n, 1))
        self.lcb = np.where(n > 0, np.clip(middle - radius, 0, 1), 0)
        self.ucb = np.where(n > 0, np.clip(middle + radius, 0, 1), 1)

    def bounds(self, contexts, steps):
        shape = (len(contexts), self.task.actions)
        return np.broadcast_to(self.lcb, shape), np.broadcast_to(self.ucb, shape)


small = "--small" in sys.argv
wilson = {"kind": "mimic-opt-dp", "name": "wilson", "oracle": Wilson}
results = cbwk.Study.preset("paper-auction").run(
    replications=2 if small else 20, policies=["mimic-opt-dp", "tight-opt-dp", wilson]
)
for policy, regret in results.final_regret().items():
    print(f"{policy:<14} regret {regret!r}")
for warning in results.warnings:
    print("warning:", warning)
