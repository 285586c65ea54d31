"""The policies of the paper in NumPy, written from the paper alone, to check the Rust against.

    python3 traces.py              replays mimic-opt-dp and myopic on the presets paper-auction and paper-pricing, with
                                   contexts and acceptance by the formulas of tests/learner.rs, and prints the figures
                                   those tests hold under the names they have there (2 seconds)
    python3 traces.py --studies N  runs N replications with NumPy's own random numbers and prints, per preset and
                                   policy, the mean cumulative regret after 200 episodes and its standard error, as held
                                   by tests/learner.rs and, for square-cbwk and logistic-ucb1, by tests/benchmarks.rs
                                   (1 to 2 seconds per replication)

Both first print opt for budgets 0 to 5. Contexts are row numbers of a finite support; action 0 is the null action.
"""
import argparse
import numpy as np

T, H, B, K, DELTA = 200, 24, 5, 4, 0.1
BUDGETS = np.arange(B + 1)


class World:
    """A preset of the paper's last section: reward and rho (context, action), cost (action); contexts are uniform."""
    def __init__(self, name):
        self.name, self.r_max, action = name, float(K), np.arange(K + 1)
        if name == "paper-auction":  # Table 1, first-price auction
            self.cost, self.oracle = action, armed
            self.reward = np.arange(1.0, K + 2)[:, None] - action
            self.rho = np.tile(action / (K + 1), (K + 1, 1))
        else:  # Table 1, dynamic pricing, with phi = (theta, a)
            self.cost, self.oracle, axis = np.minimum(action, 1), refined_logistic, np.arange(100) / 99
            self.phi = np.stack(np.meshgrid(axis, axis, action, indexing="ij"), -1).reshape(10000, K + 1, 3)
            self.reward = np.tile(action * 1.0, (10000, 1))
            self.rho = logistic(self.phi @ np.array([1, 1, -1]) / np.sqrt(3))
        self.reward[:, 0] = self.rho[:, 0] = 0
        self.size, self.cost_max = len(self.reward), self.cost.max()
        # The feasible set of Section 2.1: 0 where reward >= 0 (by context) and cost <= budget (by budget), else -inf.
        self.worth = np.where(self.reward >= 0, 0, -np.inf)
        self.fits = np.where(self.cost <= BUDGETS[:, None], 0, -np.inf)

    def opt(self):
        """The Bellman equation, Section 2.2: Optimistic-DP with the true rho and law, without the cap."""
        support = np.tile(np.arange(self.size)[:, None], H)
        return optimistic_dp(self, support, self.rho[support], self.rho[support], capped=False)[0]


def logistic(w):
    return 1 / (1 + np.exp(-w))


def newton(step, point):
    """Newton's method, to the precision of the machine in the first three coordinates."""
    for _ in range(50):
        move = step(point)
        point = point + move
        if np.abs(move[:3]).max() < 1e-12:
            return point
    raise ArithmeticError("no convergence")


def unknown(contexts):
    """What an oracle makes of its data, here of none: from contexts to estimates of rho and their radii."""
    return np.zeros((*np.shape(contexts), K + 1)), 1.0


def armed(_world, data, delta):
    """Appendix A.2.1, eq. (KarmCB): one rate per action, whatever the context."""
    m = np.bincount(data[:, 1], minlength=K + 1).clip(1)
    estimate = np.bincount(data[:, 1], data[:, 2], K + 1) / m
    radius = np.sqrt(np.log(2 * len(data) * (K + 1) / delta) / m)
    return lambda contexts: (np.tile(estimate, (*np.shape(contexts), 1)), radius)


def refined_logistic(world, data, _delta, gamma=0.5, kappa=8.0):
    """Appendix A.2.3 with lambda = 1 and the experiment's gamma and kappa."""
    x, y = world.phi[data[:, 0], data[:, 1]], data[:, 2]

    def step(mu):  # of the penalised likelihood
        f = logistic(x @ mu)
        return np.linalg.solve(np.eye(3) + (x.T * f * (1 - f)) @ x, x.T @ (y - f) - mu)

    mu = newton(step, np.zeros(3))
    mu = mu if mu @ mu <= 1 else projection(x, mu)
    v_inverse = np.linalg.inv(np.eye(3) / kappa + x.T @ x)

    def model(contexts):
        phi = world.phi[contexts]
        norm = np.sqrt(((phi @ v_inverse) * phi).sum(-1))
        return logistic(phi @ mu), gamma * np.sqrt(3 / (2 * kappa)) * norm
    return model


def projection(x, outside):
    """The mu of the unit sphere that minimises g(mu) = ||psi(mu) - psi(outside)||^2 in the norm of W(mu)^-1, as a
    stationary point of the Lagrangian g(mu) + nu (mu'mu - 1)."""
    eye, target = np.eye(3), outside + x.T @ logistic(x @ outside)

    def step(point):
        mu, nu = point[:3], point[3]
        f = logistic(x @ mu)
        f1 = f * (1 - f)
        f2, f3 = f1 * (1 - 2 * f), f1 * (1 - 6 * f1)
        w = eye + (x.T * f1) @ x
        z = mu + x.T @ f - target  # psi(mu) - psi(outside); its derivative is W
        s = x @ np.linalg.solve(w, z)
        bend = (x.T * f2 * s) @ x  # the derivative of W^-1 z is I - W^-1 bend
        gradient = 2 * z - x.T @ (f2 * s**2)
        hessian = 2 * w - (x.T * f3 * s**2) @ x - 2 * bend @ (eye - np.linalg.solve(w, bend))
        matrix = np.block([[hessian + 2 * nu * eye, 2 * mu[:, None]], [2 * mu, 0]])
        return np.linalg.solve(matrix, -np.append(gradient + 2 * nu * mu, mu @ mu - 1))

    solution = newton(step, np.append(outside / np.linalg.norm(outside), 0))
    assert solution[3] > 0, "not the nearest point"
    return solution[:3]


def scores(world, contexts, ucb, lcb, u):
    """Eq. (alg_online_Aht) less u(b): ucb r - lcb (u(b) - u(b - cost)), or -inf where not feasible; from contexts
    (...), ucb and lcb (..., action) and u (..., budget) to (..., budget, action)."""
    gap = u[..., None] - u[..., np.maximum(BUDGETS[:, None] - world.cost, 0)]
    gain = ucb * world.reward[contexts] + world.worth[contexts]
    return gain[..., None, :] - lcb[..., None, :] * gap + world.fits


def optimistic_dp(world, sample, ucb, lcb, capped=True):
    """Algorithm 2 on the contexts (s, h) of sample: u_hat (h = 1..H+1, budget). The cap is applied to the mean."""
    u = np.zeros((H + 1, B + 1))
    for h in reversed(range(H)):
        v = scores(world, sample[:, h], ucb[:, h], lcb[:, h], u[h + 1]).max(-1)
        cap = np.minimum(BUDGETS, H - h) * world.r_max
        u[h] = np.minimum(u[h + 1] + v.mean(0), cap) if capped else u[h + 1] + v.mean(0)
    return u


def greedy(world, contexts, score):
    """The best offer. Within a tie (1e-5 r_max) of the best: the largest reward, then the smallest cost, then the lowest
    index. None where the best is worse than none by more than a tie, or ties with none and has no reward."""
    tie, offers = 1e-5 * world.r_max, score[..., 1:]
    best = offers.max(-1)
    reward = np.broadcast_to(world.reward[contexts][..., None, 1:], offers.shape)
    order = np.where(offers >= best[..., None] - tie, 1000 * reward - world.cost[1:], -np.inf)
    chosen = order.argmax(-1)
    earns = np.take_along_axis(reward, chosen[..., None], -1)[..., 0] > 0
    return np.where((best > tie) | (best >= -tie) & earns, chosen + 1, 0)


class Policy:
    """What `play` calls: start and learn around each episode, choose and observe at each step."""
    def __init__(self, world, rng=None):
        self.world, self.rng, self.u, self.model = world, rng, np.zeros((H + 1, B + 1)), unknown
        self.data, self.count, self.seen = np.zeros((T * H, 3), int), 0, np.zeros(world.size)

    start = observe = learn = lambda self, *_: None

    def add(self, context, action, converted):
        self.data[self.count] = context, action, converted
        self.count += action > 0

    def fit(self, delta):
        if self.count:
            self.model = self.world.oracle(self.world, self.data[:self.count], delta)

    def bounds(self, contexts):
        """ucb and lcb, 0 for the null action."""
        estimate, radius = self.model(contexts)
        return [(estimate + sign * radius).clip(0, 1) * (np.arange(K + 1) > 0) for sign in (1, -1)]

    def feasible(self, context, budget):
        return np.flatnonzero(self.world.worth[context] + self.world.fits[budget] == 0)


class Myopic(Policy):
    """Maximises ucb r (u_hat = 0): every episode teaches rho, nothing is planned."""
    def start(self, contexts):
        """Bounds and u_hat stay as they are within an episode, so decisions are tabulated by step and budget."""
        self.table = greedy(self.world, contexts, scores(self.world, contexts, *self.bounds(contexts), self.u[1:]))

    def choose(self, h, _context, budget):
        return self.table[h, budget]

    def learn(self, t, contexts, actions, converted):
        for step in zip(contexts, actions, converted):
            self.add(*step)
        self.fit(DELTA / (t + 1) ** 2)


class MimicOptDp(Myopic):
    """Algorithm 1 with alpha = 1/2, so n_alpha = 2: by eq. (J) odd episodes teach contexts, even ones rho."""
    def learn(self, t, contexts, actions, converted):
        if t % 2 == 1:
            self.sample = contexts[None] if t == 1 else np.vstack([self.sample, contexts])
        else:
            super().learn(t, contexts, actions, converted)
            self.u = optimistic_dp(self.world, self.sample, *self.bounds(self.sample))


class Random(Policy):
    """Uniform over the feasible actions, the null action among them."""
    def choose(self, _h, context, budget):
        return self.rng.choice(self.feasible(context, budget))


class SquareCbwk(Policy):
    """SquareCBwK of Han et al. (2023), one resource: regression, inverse gap weighting, exponential dual weights."""
    def start(self, contexts):
        self.w = 0.5

    def choose(self, _h, context, budget):
        world, allowed = self.world, self.feasible(context, budget)
        self.fit(DELTA)
        k, price = len(allowed), self.w * H * world.cost_max / B
        score = self.model(context)[0] * (world.reward[context] / world.r_max - price * world.cost / world.cost_max)
        score = score[allowed]  # less lambda B / (cost_max H), the same for all
        p = 1 / (k + 2 * np.sqrt(k * H / np.log(H)) * (score.max() - score))
        p[score.argmax()] += 1 - p.sum()
        return self.rng.choice(allowed, p=p)

    def observe(self, context, action, converted):
        self.add(context, action, converted)
        used = self.world.cost[action] * converted / self.world.cost_max
        w = self.w * np.exp(-2 * np.log(2) / np.sqrt(H) * (B / (self.world.cost_max * H) - used))
        self.w = w / (w + 1 - self.w)


class LogisticUcb1(Policy):
    """Box B of Li & Stoltz (2022): every step a linear programme over contexts seen, ucb for reward and cost."""
    def choose(self, _h, context, budget):
        self.seen[context] += 1
        self.fit(DELTA)
        ucb = self.bounds(context)[0]
        row = box_b(self.seen / self.seen.sum(), ucb * self.world.reward, ucb * self.world.cost, context)
        action = self.rng.choice(K + 1, p=row)
        return action if self.world.cost[action] <= budget else 0

    observe = Policy.add


def box_b(weights, gain, use, now):
    """Row `now` of the pi that maximises the mean of gain (context, action) pi with the mean of use (action) pi at most
    B/H: climb the concave hulls of all contexts, steepest edge first, until the budget is used up."""
    edges, gain, use = [], gain.tolist(), use.tolist()
    for i in np.flatnonzero(weights):
        a = 0
        while rises := [((gain[i][c] - gain[i][a]) / (use[c] - use[a]), use[c], c)
                        for c in range(1, K + 1) if use[c] > use[a] and gain[i][c] > gain[i][a]]:
            slope, _, c = max(rises)
            edges.append((-slope, i, a, c))
            a = c
    row, left = np.eye(K + 1)[0], B / H
    for _, i, a, c in sorted(edges):
        need = weights[i] * (use[c] - use[a])
        part = min(1, left / need)
        left = max(0, left - part * need)
        if i == now:
            row[a], row[c] = row[a] * (1 - part), row[a] * part
    return row


POLICIES = {"mimic-opt-dp": MimicOptDp, "myopic": Myopic, "random": Random,
            "square-cbwk": SquareCbwk, "logistic-ucb1": LogisticUcb1}  # the last two for the auction alone


def play(world, policy, contexts, luck):
    """Step (t, h) converts where luck < rho. Returns actions (t, h), rewards (t) and u_hat at each episode's start."""
    actions, converted, rewards, plans = np.zeros((T, H), int), np.zeros((T, H), bool), np.zeros(T), []
    for t in range(T):
        policy.start(contexts[t])
        plans.append(policy.u)
        budget = B
        for h, context in enumerate(contexts[t]):
            actions[t, h] = a = policy.choose(h, context, budget)
            converted[t, h] = y = luck[t, h] < world.rho[context, a]
            policy.observe(context, a, y)
            rewards[t] += world.reward[context, a] * y
            budget -= world.cost[a] * y
        policy.learn(t + 1, contexts[t], actions[t], converted[t])
    return actions, rewards, plans


def traces(world):
    """Contexts and luck by the formulas of tests/learner.rs, and what its tests hold of the replay."""
    t, h = np.arange(1, T + 1)[:, None], np.arange(1, H + 1)
    contexts, episodes = (7 * t + 3 * h + t * h) % 5, (1, 11, 200)
    if world.oracle is refined_logistic:
        contexts, episodes = (17 * t + 31 * h + t * h) % 100 * 100 + (53 * t + 29 * h + 3 * t * h) % 100, (2, 51, 200)
    luck = (H * (t - 1) + h) * 0.6180339887498949 % 1
    for name in ("mimic-opt-dp", "myopic"):
        policy = POLICIES[name](world)
        actions, rewards, plans = play(world, policy, contexts, luck)
        print(f"\n{world.name}, {name}")
        for t in episodes:
            print(f"episode({t})".ljust(12), "".join(map(str, actions[t - 1])))
        print("counts      ", np.bincount(actions.ravel(), minlength=K + 1).tolist())
        print("checksum    ", actions.ravel() @ np.arange(1, T * H + 1))
        print("earned      ", [float(rewards[:n].sum()) for n in (10, 50, 100, 150, 200)])
        if name == "mimic-opt-dp":
            print("plans[50]   ", plans[50][0].tolist())
            print("last.row(0) ", policy.u[0].tolist())
            print("last.row(11)", policy.u[11].tolist())


def studies(world, replications):
    best = T * world.opt()[B]
    for name, kind in POLICIES.items() if world.oracle is armed else list(POLICIES.items())[:3]:
        regrets = []
        for replication in range(replications):  # every policy meets the same contexts and luck
            rng = np.random.default_rng([1, replication])
            contexts, luck = rng.integers(world.size, size=(T, H)), rng.random((T, H))
            regrets.append(best - play(world, kind(world, rng), contexts, luck)[1].sum())
        error = np.std(regrets, ddof=1) / np.sqrt(replications)
        print(f'("{world.name}", "{name}", ({np.mean(regrets):.3f}, {error:.3f}))', flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, metavar="N", help="replications, at least 2")
    arguments = parser.parse_args()
    for each in (World("paper-auction"), World("paper-pricing")):
        print(f"\n{each.name}, opt", each.opt().round(6).tolist())
        studies(each, arguments.studies) if arguments.studies else traces(each)
