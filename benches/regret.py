"""Regret over the clairvoyant, from the product: the tables of `policy::measured` and of the guide's comparison.

    python benches/regret.py tables [NAME ...]      one row per study; about an hour of one core for all
    python benches/regret.py harsh [--worlds 300]   random worlds made to trap learners that give up early

CBWK names the program (default target/release/cbwk-gpu). Standard library only.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = os.environ.get("CBWK", "target/release/cbwk-gpu")

POLICIES = {
    "tight": 'kind = "tight-opt-dp"',
    "no tolerance": 'kind = "tight-opt-dp"\ntolerance = 0.0',
    "thompson": 'kind = "thompson-opt-dp"',
    "plug-in": 'kind = "plug-in"',
    "mimic": 'kind = "mimic-opt-dp"',
    "ucb1": 'kind = "logistic-ucb1"',
    "myopic": 'kind = "myopic"',
}
PAPER = ("mimic", "ucb1", "myopic")  # with the preset's own oracle

PRICES8 = ("prices = [1, 2, 3, 4]", "prices = [1, 2, 3, 4, 5, 6, 7, 8]")
AUCTION8 = [
    ("bids = [1, 2, 3, 4]", "bids = [1, 2, 3, 4, 5, 6, 7, 8]"),
    ("values = [1, 2, 3, 4, 5]", "values = [1, 2, 3, 4, 5, 6, 7, 8, 9]"),
    ("[0.2, 0.4, 0.6, 0.8]", str([a / 9 for a in range(1, 9)])),
]
LONG = [("episodes = 200", "episodes = 2000")]
ALL = list(POLICIES)

# name: preset, changes, replications, policies
STUDIES = {
    "auction K = 4": ("paper-auction", [], 50, ALL),
    "auction K = 8": ("paper-auction", AUCTION8, 50, ALL),
    "auction K = 4, T = 2000": ("paper-auction", LONG, 20, ["tight", "thompson", "plug-in"]),
    "auction K = 8, T = 2000": ("paper-auction", AUCTION8 + LONG, 20, ["tight", "thompson", "plug-in"]),
    "pricing K = 4": ("paper-pricing", [], 50, ALL),
    "pricing K = 8": ("paper-pricing", [PRICES8], 50, ALL),
    "pricing K = 4, B = 12": ("paper-pricing", [("value = 5", "value = 12")], 20, ALL),
    "pricing K = 4, T = 2000": ("paper-pricing", LONG, 8, ["tight", "thompson", "plug-in"]),
    "linear-pricing": ("linear-pricing", [], 50, [p for p in ALL if p != "thompson"]),
    "crowd-procurement": ("crowd-procurement", [], 50, ALL),
    "rush-hour-pricing": ("rush-hour-pricing", [], 20, ALL),
    "loan-table": ("loan-table", [], 50, ALL),
    "ad-auction-budgets": ("ad-auction-budgets", [], 50, ALL),
    "one-customer": ("one-customer", [], 30, ALL),
    "one-customer, T = 2000": ("one-customer", [("episodes = 300", "episodes = 2000")], 30, ["tight", "no tolerance", "thompson", "plug-in"]),
    "hotel-pricing, T = 60": ("hotel-pricing", [("episodes = 365", "episodes = 60")], 4, ["tight", "thompson", "plug-in"]),
    "smooth-pricing": ("smooth-pricing", [], 4, ["tight", "no tolerance", "plug-in", "myopic"]),
    "nonlinear-pricing": ("nonlinear-pricing", [], 4, ["tight", "no tolerance", "plug-in", "myopic"]),
}


def preset(name):
    """The world of a preset, and the oracle that its policies name, if any."""
    text = subprocess.run([PROGRAM, "presets", name], check=True, capture_output=True, text=True).stdout
    world, policies = text.split("[[policies]]", 1)
    oracles = re.findall(r"^oracle = (.*)$", policies, re.M)
    own = [o for o in oracles if '"mixture"' not in o and '"beta-binomial"' not in o]
    return world.split("[sweep]")[0], own[0] if own else None


def simulate(text):
    """The policies of a study with their final regrets by replication."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.toml"
        file.write_text(text)
        command = [PROGRAM, "simulate", str(file), "--out", str(Path(folder) / "out"), "--quiet", "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        run = json.loads((Path(folder) / "out" / "run.json").read_text())
    return {p["name"]: p for p in run["policies"]}, run


def over(policies, name):
    """Mean and 3 standard errors of the final regret over the clairvoyant's."""
    pairs = zip(policies[name]["final_regrets"], policies["clairvoyant"]["final_regrets"])
    d = [mine - best for mine, best in pairs]
    error = 3 * statistics.stdev(d) / len(d) ** 0.5 if len(d) > 1 else float("nan")
    return statistics.mean(d), error


def table_row(name):
    source, changes, replications, names = STUDIES[name]
    world, own = preset(source)
    for old, new in changes:
        assert old in world, (name, old)
        world = world.replace(old, new)
    world = re.sub(r"replications = \d+", f"replications = {replications}", world)
    text = world + '\n[[policies]]\nkind = "clairvoyant"\n'
    for policy in names:
        text += f'\n[[policies]]\n{POLICIES[policy]}\nname = "{policy}"\n'
        kind = re.search(r'kind = "[\w-]+"', own or "")
        if policy in PAPER and own:
            text += f"oracle = {own}\n"
        elif kind and source in ("nonlinear-pricing", "loan-table"):
            text += "oracle = { " + kind.group(0) + " }\n"
    found, _ = simulate(text)
    cells = [f"{mean:.1f} ± {error:.1f}" for mean, error in (over(found, p) for p in names)]
    return dict(zip(names, cells))


def tables(names):
    print("| study (replications) | " + " | ".join(ALL) + " |")
    print("| --- " * (len(ALL) + 1) + "|", flush=True)
    for name in names or STUDIES:
        row = table_row(name)
        label = f"{name} ({STUDIES[name][2]})"
        print(f"| {label} | " + " | ".join(row.get(p, "") for p in ALL) + " |", flush=True)


def harsh_world(rng):
    """A world in which little is learnt from what is played: few kinds of customers, steep demand, actions that differ much."""
    kind = rng.choice(["pricing", "procurement", "auction", "arms"])
    horizon, actions = rng.randint(4, 20), rng.randint(2, 7)
    budget = rng.randint(1, max(2, horizon // 2))
    customers = sorted({round(rng.uniform(0, 1), 2) for _ in range(rng.choice([1, 1, 2, 5]))})
    contexts = f'kind = "finite"\nvalues = {[[x, 1.0] for x in customers]}'
    if kind in ("procurement", "auction"):
        values = sorted(rng.sample(range(1, 20), actions))
    else:
        scale = rng.choice([1, 1, 3])
        values = sorted({round(rng.uniform(0.5, 10) ** scale, 2) for _ in range(actions)})
    middle = values[len(values) // 2]
    slope = rng.uniform(0.3, 6) / max(values[-1] - values[0], 1e-9)
    if kind == "auction":
        # The value of the item is the only feature.
        contexts = f'kind = "finite"\nvalues = {sorted(rng.sample(range(2, 24), rng.randint(1, 4)))}'
        weights = [rng.uniform(-0.2, 0.2), slope]
        oracle, field = "logistic", "bids"
        budget = rng.randint(values[0], 3 * values[-1])
    elif kind == "procurement":
        weights = [rng.uniform(-2, 2), -slope * middle + rng.uniform(-3, 1), slope]
        oracle, field = "logistic", "wages"
        budget = rng.randint(values[0], 3 * values[-1])
    else:
        weights = [rng.uniform(-2, 2), slope * middle + rng.uniform(-1, 3), -slope]
        oracle, field = "logistic", "prices"
    conversion = f'kind = "logistic"\nweights = {weights}'
    if kind == "arms":
        shares = sorted((rng.choice([rng.random(), rng.random() ** 4]) for _ in values), reverse=True)
        conversion, oracle = f'kind = "armed"\nprobabilities = {[max(x, 1e-3) for x in shares]}', "armed"
    kind = "pricing" if kind == "arms" else kind
    return (
        f'[study]\nepisodes = {rng.choice([100, 200])}\nhorizon = {horizon}\nreplications = 4\nseed = {rng.randint(1, 10**6)}\n'
        f'[budget]\nkind = "constant"\nvalue = {budget}\n[application]\nkind = "{kind}"\n{field} = {values}\n'
        f"[contexts]\n{contexts}\n[conversion]\n{conversion}\n",
        oracle,
    )


def harsh(worlds, first):
    """Share of the clairvoyant's reward that is lost, in percent, and how often tight loses more than both others."""
    names = ["tight", "no tolerance", "thompson"]
    lost = {name: [] for name in names}
    worse = []
    for seed in range(first, first + worlds):
        text, oracle = harsh_world(random.Random(seed))
        text += '\n[[policies]]\nkind = "clairvoyant"\n'
        for name in names:
            text += f'\n[[policies]]\n{POLICIES[name]}\nname = "{name}"\noracle = {{ kind = "{oracle}" }}\n'
        found, _ = simulate(text)
        best = found["clairvoyant"]["mean_reward"]
        if not best:
            continue
        share = {n: 100 * (1 - found[n]["mean_reward"] / best) for n in names}
        for name in names:
            lost[name].append(share[name])
        worse.append((share["tight"] - max(share["no tolerance"], share["thompson"]), seed))
    for name in names:
        all_lost = sorted(lost[name])
        print(f"{name}: lost {statistics.mean(all_lost):.2f}% on average, median {statistics.median(all_lost):.2f}%, "
              f"90% {all_lost[int(0.9 * len(all_lost))]:.2f}%, worst {all_lost[-1]:.1f}%")
    for limit in (5, 15):
        print(f"worse than both by more than {limit} points: {sum(w > limit for w, _ in worse)} of {len(worse)}")
    print("worst seeds:", sorted(worse, reverse=True)[:5])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tables", "harsh"])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--first", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.what == "tables":
        tables(arguments.names)
    else:
        harsh(arguments.worlds, arguments.first)
