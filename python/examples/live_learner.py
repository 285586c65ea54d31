"""A shop that learns: ten units a day, 40 customers a day, four prices, one feature. The shop's truth is made up here."""

import pickle
import sys

import cbwk
import numpy as np

days = 20 if "--small" in sys.argv else 200
luck = np.random.default_rng(1)
task = cbwk.Task(horizon=40, budget=10, prices=[1.0, 2.0, 3.0, 4.0], features=1)
shop = cbwk.Learner(task, oracle={"kind": "logistic"})
for day in range(1, days + 1):
    shop.begin(10)
    for hour in range(1, 41):
        regular = float(luck.random() < 0.3)
        offer = shop.decide(hour, [regular])
        if offer.action:
            chance = 1 / (1 + np.exp(1.2 * offer.value - 2 - regular))
            shop.observe(luck.random() < chance)
    brought = shop.end()
    # Every night the shop is put away, and taken up in the morning as if nothing had been.
    shop = pickle.loads(pickle.dumps(shop))
    if day % (days // 5) == 0:
        print(f"day {day}: earned {brought.reward:.0f}, sold {brought.spent}")
