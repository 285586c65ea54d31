"""A world of your own: customers whose patience falls during the day, with contexts drawn by a function of yours."""

import sys

import cbwk
import numpy as np


def accepts(contexts, steps, prices):
    """Probabilities of all (customer, price) at once, shape (n, prices)."""
    patience = 2.5 - 0.05 * steps[:, np.newaxis]
    return 1 / (1 + np.exp(prices - patience - contexts[:, :1]))


def customers(generator, steps):
    """Features of the customers who arrive at these steps, shape (n, 1)."""
    return generator.beta(2, 5, (len(steps), 1))


small = "--small" in sys.argv
study = cbwk.Study.from_dict(
    {
        "study": {"name": "patience", "horizon": 24, "episodes": 10 if small else 100, "optimum_rows": 200 if small else 5000},
        "budget": {"kind": "constant", "value": 6},
        "application": {"kind": "pricing", "prices": [1, 2, 3, 4]},
        "contexts": {"kind": "own", "code": customers, "low": [0.0], "high": [1.0], "no_arrival": 0.1},
        "conversion": {"kind": "own", "code": accepts, "by_step": True},
        "policies": [{"kind": "tight-opt-dp", "oracle": {"kind": "logistic"}}, {"kind": "clairvoyant"}],
    }
)
print(study.run(replications=2 if small else 20))
