"""The paper's figure: cumulative regret of the learners in the auction, with bands of 3 standard errors."""

import sys

import cbwk

small = "--small" in sys.argv
results = cbwk.Study.preset("paper-auction").run(replications=2 if small else 50)
results.plot().figure.savefig("regret.png", dpi=150)
# The table, and what to know before trusting it.
print(results)
