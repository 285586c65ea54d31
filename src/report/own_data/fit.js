// The page of a fit: warnings, comparison of candidates, the model and its calibration.

function acceptance() {
  const { actions, action } = data.model;
  const part = section("acceptance", `Acceptance by ${action}`,
    `Share of offers accepted, with its 95% interval, and the model's probability for the same offers when their episodes are held out.`);
  const values = actions.map((a) => a.value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  const host = el("div", { class: "chart" });
  part.append(host, legend(["observed", "var(--c0)"], ["model", "var(--c1)"]));
  picture(host, {
    label: `Acceptance by ${action}`,
    x: { name: action, low: low - room, high: high + room },
    y: { name: "accepted", low: 0, high: Math.min(1, Math.max(...actions.map((a) => a.upper)) * 1.05), label: share },
    marks: (place) => {
      const shift = Math.min(7, (place.frame.right - place.frame.left) / values.length / 6);
      const moved = (by) => ({ ...place, x: (v) => place.x(v) + by });
      return actions.flatMap((a) => [
        ...dot(moved(-shift), a.value, a.observed, a.lower, a.upper, "var(--c0)",
          `${action} ${a.value}: ${exactShare(a.observed)} of ${a.offers} offers accepted (${exactShare(a.lower)} to ${exactShare(a.upper)})`),
        ...dot(moved(shift), a.value, a.predicted, null, null, "var(--c1)", `${action} ${a.value}: model ${exactShare(a.predicted)}`),
      ]);
    },
  });
  part.append(table(`Acceptance by ${action}`, [action[0].toUpperCase() + action.slice(1), "Offers", "Accepted", "95% interval", "Model", ""],
    actions.map((a) => ({
      mark: a.thin ? "thin" : null,
      cells: [String(a.value), a.offers.toLocaleString("en"), exactShare(a.observed), `${exactShare(a.lower)} to ${exactShare(a.upper)}`,
        exactShare(a.predicted), a.thin ? "too few to plan with" : ""],
    }))));
}

function reliability() {
  const bins = data.model.reliability;
  const part = section("reliability", "Is a probability of 30% really 30%?",
    "Held-out offers in ten groups of rising probability: points on the line mean that the model is calibrated.");
  const host = el("div", { class: "chart" });
  part.append(host);
  const most = Math.min(1, Math.max(...bins.flatMap((b) => [b.predicted, b.upper])) * 1.05);
  picture(host, {
    label: "Observed share against predicted probability",
    x: { name: "predicted", low: 0, high: most, label: share },
    y: { name: "observed", low: 0, high: most, label: share },
    marks: (place) => [
      shape("line", { class: "diagonal", x1: place.x(0), y1: place.y(0), x2: place.x(most), y2: place.y(most) }),
      ...bins.flatMap((b) => dot(place, b.predicted, b.observed, b.lower, b.upper, "var(--c0)",
        `predicted ${exactShare(b.predicted)}, observed ${exactShare(b.observed)} of ${b.offers} offers`)),
    ],
  });
}

function candidates() {
  const { candidates: list, base_log_loss: base, base_brier: brier, model, compared_offers: offers } = data.model;
  const part = section("candidates", "Candidates, on held-out episodes",
    `Ten folds of episodes, ${offers.toLocaleString("en")} offers. Smaller is better; the simplest candidate within one standard error of the best is chosen.`);
  const row = (c) => ({
    mark: c.chosen ? "chosen" : null,
    cells: [c.title + (c.chosen ? " (chosen)" : ""), String(c.parameters), c.log_loss.toFixed(5),
      c.behind > 0 ? `${c.behind.toFixed(5)} (${c.behind_error.toFixed(5)})` : "best", c.brier.toFixed(4)],
  });
  part.append(
    table("Candidates", ["Candidate", "Parameters", "Log loss", "Behind the best (s.e.)", "Brier"],
      [...list.map(row), { cells: ["base rate", "1", base.toFixed(5), "", brier.toFixed(4)] }]),
    el("p", { class: "note" }, `Chosen: ${model.reason}.`));
}

function terms() {
  const { model } = data.model;
  if (!model.terms.length) return;
  const rates = model.kind === "rates";
  const part = section("terms", rates ? "Rates" : "Terms of the model",
    rates ? null : `Features and ${data.model.action} are scaled as in task.toml, so that terms can be compared; ridge penalty ${model.lambda}.`);
  const error = (t) => t.standard_error === null ? "–" : t.standard_error.toFixed(4);
  part.append(table("Terms", [rates ? data.model.action : "Term", rates ? "Rate" : "Coefficient", "Standard error"],
    model.terms.map((t) => ({ cells: [t.name, t.coefficient.toFixed(4), error(t)] }))));
}

function arrivals() {
  const { steps } = data.model;
  const pooled = steps.filter((s) => s.pooled).length;
  const part = section("arrivals", "Arrivals by step",
    `Probability of an arrival. ${pooled === 0 ? "Every step has its own contexts."
      : pooled === steps.length ? "Steps have few arrivals: all share the same contexts."
        : `${pooled} of ${steps.length} steps have few arrivals and take the contexts of all steps.`}`);
  const host = el("div", { class: "chart" });
  part.append(host);
  if (pooled && pooled < steps.length) {
    part.append(legend(["own contexts", "var(--c0)", true], ["contexts of all steps", "var(--c5)", true]));
  }
  picture(host, {
    label: "Arrivals by step",
    x: { name: "step", low: 0.5, high: steps.length + 0.5, whole: true },
    y: { name: "arrival", low: 0, high: Math.max(...steps.map((s) => s.rate), 0.01), label: share },
    marks: (place) => steps.map((s) => {
      const [left, right] = [place.x(s.step - 0.42), place.x(s.step + 0.42)];
      return shape("rect", { class: s.pooled ? "bar-mark pooled" : "bar-mark", x: left, width: right - left,
        y: place.y(s.rate), height: place.y(0) - place.y(s.rate) },
      shape("title", {}, `step ${s.step}: ${s.arrivals} arrivals, ${exactShare(s.rate)}`));
    }),
  });
}

/** The groups of days in words, with their numbers of days. */
function groupsOf(tree) {
  if (!tree.words) return [{ words: "all days", days: tree.days }];
  return tree.parts.flatMap((part, i) => groupsOf(part).map((g) => ({
    days: g.days, words: part.words ? `${tree.words[i]}, ${g.words}` : tree.words[i] })));
}

function days() {
  const { columns, tree, moods, drift } = data.model.days;
  const groups = groupsOf(tree);
  const part = section("days", "Do days differ?", groups.length > 1
    ? "Each group of days has arrivals, contexts and a plan of its own." : "One plan serves all days.");
  if (groups.length > 1) {
    part.append(table("Groups of days", ["Group", "Days"], groups.map((g) => ({ cells: [g.words, g.days.toLocaleString("en")] }))));
  } else if (columns.length) {
    part.append(el("p", {}, `Columns of the day (${columns.join(", ")}) do not change what a day is worth.`));
  }
  const tests = [["arrivals", "Some days are busier than others"], ["contexts", "On some days customers are worth more"],
    ["acceptance", "On some days customers accept more readily"]];
  const verdict = (z) => z === null ? "not tested" : z > 3 ? "yes" : "no";
  part.append(table("Differences that no column tells", ["Beyond that", "z", "Found"],
    tests.map(([name, words]) => ({ cells: [words, moods[name] === null ? "–" : moods[name].toFixed(1), verdict(moods[name])] }))));
  if (drift) {
    part.append(el("p", {}, drift.half_life === null
      ? "Acceptance does not change over the calendar, as far as the log can tell."
      : `Acceptance changes over the calendar: an offer counts half after ${drift.half_life.toFixed(0)} days.`));
  }
}

function careful() {
  const { warnings, offers_explained: explained, action, monotonicity } = data.model;
  const words = [`Features and step explain ${exactShare(explained)} of the variation of the ${action}: ${explained > 0.1
    ? "offers depend on the customer." : "offers hardly depend on the customer, which is what a fit needs."}`,
  `Acceptance should be ${monotonicity.expected} in the ${action}; in the model it is for ${exactShare(1 - monotonicity.wrong_share)} of arrivals.`];
  if (warnings.length) {
    byId("main").append(el("ul", { class: "warnings", "aria-label": "Warnings" },
      ...warnings.map((w) => el("li", {}, w))));
  }
  const part = section("careful", "Can a model be learnt from these offers?", null);
  part.append(...words.map((w) => el("p", {}, w)));
}

theme();
const { log } = data.model;
byId("subtitle").textContent = [`${log.episodes.toLocaleString("en")} episodes`, `${log.arrivals.toLocaleString("en")} arrivals`,
  `${log.offers.toLocaleString("en")} offers`, `${exactShare(log.accepted / log.offers)} accepted`].join(", ");
careful();
acceptance();
reliability();
candidates();
terms();
days();
arrivals();
