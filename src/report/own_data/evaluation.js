// The page of an evaluation: what each policy earns, day by day, and what the data do not support.

const { evaluation, days, action } = data;
const { policy, against, difference } = evaluation;
const money = (x) => number(x, Math.max(Math.abs(policy.reward), Math.abs(against.reward), 0.01));

/** The most points of a chart by day; more days are shown as means of neighbours. */
const POINTS = 120;

function warned() {
  if (evaluation.warnings.length) {
    byId("main").append(el("ul", { class: "warnings", "aria-label": "Warnings" },
      ...evaluation.warnings.map((w) => el("li", {}, w))));
  }
}

function rewards() {
  const part = section("rewards", "What each policy earns per day",
    "Days of the log are replayed with plans made from other days; intervals are 95%, from days drawn again with replacement.");
  const list = [policy, against, difference];
  const host = el("div", { class: "chart" });
  part.append(host);
  const ends = list.flatMap((r) => [r.lower, r.upper, 0]);
  picture(host, {
    label: "Mean reward per day with 95% intervals",
    x: { name: `${policy.policy}, ${against.policy}, and their difference`, low: 0.4, high: 3.6, label: () => "" },
    y: { name: "reward per day", low: Math.min(...ends), high: Math.max(...ends) },
    marks: (place) => list.flatMap((r, i) => dot(place, i + 1, r.reward, r.lower, r.upper, `var(--c${i})`,
      `${r.policy}: ${money(r.reward)} (${money(r.lower)} to ${money(r.upper)})`)),
  });
  part.append(
    legend(...list.map((r, i) => [r.policy, `var(--c${i})`])),
    table("Rewards", ["Policy", "Reward per day", "95% interval"],
      list.map((r) => ({ cells: [r.policy, money(r.reward), `${money(r.lower)} to ${money(r.upper)}`] }))),
    el("p", { class: "note" }, `The log itself earned ${money(evaluation.logged)} (standard error ${money(evaluation.logged_error)}). `
      + `A model in which the steps of a day are independent would expect ${money(evaluation.independent)} for ${policy.policy}.`));
}

/** Neighbouring days together, so that a chart has at most POINTS of them. */
function blocks() {
  const size = Math.ceil(days.length / POINTS);
  const mean = (list, key) => list.reduce((sum, d) => sum + d[key], 0) / list.length;
  return Array.from({ length: Math.ceil(days.length / size) }, (_, i) => {
    const list = days.slice(i * size, (i + 1) * size);
    const name = list.length > 1 ? `${list[0].day} to ${list.at(-1).day}` : list[0].day;
    return { at: i * size + (list.length + 1) / 2, name, policy: mean(list, "policy"), against: mean(list, "against") };
  });
}

function byDay() {
  if (!days.length) return;
  const points = blocks();
  const size = Math.ceil(days.length / POINTS);
  const part = section("days", "Day by day",
    size > 1 ? `Each point is the mean of ${size} days in the order of the log.` : "Days in the order of the log.");
  const x = { name: "day of the log", low: 0.5, high: days.length + 0.5, whole: true };
  const chart = (label, series) => {
    const host = el("div", { class: "chart" });
    part.append(host, legend(...series.map((s) => [s.name, s.colour])));
    const values = points.flatMap((p) => series.map((s) => s.of(p)));
    picture(host, {
      label,
      x,
      y: { name: label, low: Math.min(0, ...values), high: Math.max(0, ...values) },
      marks: (place) => series.flatMap((s) => points.flatMap((p) => dot(place, p.at, s.of(p), null, null, s.colour,
        `${p.name}: ${s.name} ${money(s.of(p))}`))),
    });
  };
  chart("reward", [
    { name: policy.policy, colour: "var(--c0)", of: (p) => p.policy },
    { name: against.policy, colour: "var(--c1)", of: (p) => p.against },
  ]);
  chart("difference", [{ name: `${policy.policy} minus ${against.policy}`, colour: "var(--c2)", of: (p) => p.policy - p.against }]);
  const better = days.filter((d) => d.policy > d.against).length;
  part.append(el("p", { class: "note" },
    `${policy.policy} earns more than ${against.policy} on ${better.toLocaleString("en")} of ${days.length.toLocaleString("en")} days.`
    + (against.policy === "logged" || policy.policy === "logged" ? " On a single day the log's own reward contains the luck of that day." : "")));
}

function offers() {
  const part = section("offers", `Offers by ${action}`,
    `The model's acceptance beside an estimate that is right if either the model or the way offers were chosen is known (doubly robust).`);
  const half = (a) => 1.96 * a.standard_error;
  const clipped = (x) => exactShare(Math.min(1, Math.max(0, x)));
  part.append(table(`Offers by ${action}`, [action[0].toUpperCase() + action.slice(1), "Offers in the log", "Share of the plan's", "Model", "Doubly robust (95%)", "Effective offers", ""],
    evaluation.actions.map((a) => ({
      mark: a.objection === null ? null : "thin",
      cells: [String(a.value), a.offers.toLocaleString("en"), exactShare(a.plan_share), exactShare(a.model),
        `${exactShare(a.robust)} (${clipped(a.robust - half(a))} to ${clipped(a.robust + half(a))})`,
        Math.round(a.effective_offers).toLocaleString("en"), a.objection === null ? "" : "not supported"],
    }))));
  const objections = evaluation.actions.filter((a) => a.objection !== null);
  if (objections.length) {
    part.append(el("p", {}, "What the data do not support:"),
      el("ul", {}, ...objections.map((a) => el("li", {}, `${action} ${a.value}: ${a.objection}`))));
  } else {
    part.append(el("p", { class: "note" }, "The log supports the model at every one of these."));
  }
}

theme();
const verdict = difference.lower > 0 ? `${policy.policy} earns more than ${against.policy}`
  : difference.upper < 0 ? `${policy.policy} earns less than ${against.policy}` : "the log cannot tell which earns more";
byId("subtitle").textContent = `${policy.policy} against ${against.policy}: ${money(difference.reward)} per day `
  + `(${money(difference.lower)} to ${money(difference.upper)}); ${verdict}. `
  + `${evaluation.episodes.toLocaleString("en")} days, ${evaluation.arrivals.toLocaleString("en")} arrivals.`;
warned();
rewards();
byDay();
offers();
