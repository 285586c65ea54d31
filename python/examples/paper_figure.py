"""The paper's figure: cumulative regret of the learners in the auction, with bands of 3 standard errors."""

import sys

import cbwk
import matplotlib.pyplot as plt

small = "--small" in sys.argv
study = cbwk.Study.preset("paper-auction")
results = study.run(replications=2 if small else 50)

figure, axes = plt.subplots(figsize=(7, 4.5))
summary = results.summary
for policy in results.policies:
    own = summary["policy"] == policy
    episode, mean = summary["episode"][own], summary["mean"][own]
    (line,) = axes.plot(episode, mean, label=policy)
    axes.fill_between(episode, summary["lower"][own], summary["upper"][own], color=line.get_color(), alpha=0.2)
axes.set(xlabel="episode", ylabel="cumulative regret", title=results.name)
axes.legend()
figure.savefig("regret.png", dpi=150)
print(results)
