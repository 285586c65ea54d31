"""A batch of posterior draws: what a plan is worth while the probabilities are uncertain, and what knowing them would be worth."""

import sys
import time

import cbwk
import numpy as np

draws = 50 if "--small" in sys.argv else 1000
prices = np.array([[1.0, 2.0, 3.0, 4.0]])
accepted, refused = np.array([[18, 11, 6, 2]]), np.array([[2, 9, 14, 18]])
posterior = np.random.default_rng(1).beta(1 + accepted, 1 + refused, size=(draws, 1, 4))

start = time.perf_counter()
values, plans = cbwk.solve_many(prices, np.ones_like(prices), posterior, horizon=40, budget=10, policy=True)
seconds = time.perf_counter() - start
print(f"{draws} problems in {seconds * 1e3:.1f} ms")

informed = values[:, 0, 10]
plan = cbwk.solve_many(prices, np.ones_like(prices), posterior.mean(axis=0)[np.newaxis], horizon=40, budget=10, policy=True)[1][0]
earned = np.array([cbwk.evaluate(plan, prices, np.ones_like(prices), one)[10] for one in posterior])
low, high = np.quantile(earned, [0.025, 0.975])
print(f"the plan for the mean earns {earned.mean():.2f} (95% of draws: {low:.2f} to {high:.2f})")
print(f"knowing the probabilities would be worth {np.mean(informed - earned):.3f} more")
