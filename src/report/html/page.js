// The page itself: title, policies, plots, tables, settings.

function subtitle() {
  const { run } = data.runs[0];
  const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
  const of = (r) => `T = ${counted(r.episodes, "episode")}, H = ${counted(r.horizon, "step")}, ${counted(r.replications, "replication")}`;
  const same = data.runs.every((other) => of(other.run) === of(run));
  const folders = data.runs.length === 1 ? "" : `${data.runs.length} result folders compared. `;
  byId("subtitle").textContent = folders + (same ? of(run) : "Their sizes differ: see the settings.");
}

/**
 * A chart for each instance, because their values are not comparable: under its name, with a button per policy that
 * hides and shows it. `seriesOf` gives the values of a policy, or null; `what` names a position on x.
 */
function charts(host, options, seriesOf, more = () => []) {
  return data.instances.flatMap((name, instance) => {
    const members = data.series.map((s, i) => ({ s, i })).filter(({ s }) => s.instance === instance);
    const series = members.map(({ s, i }) => ({ i, name: s.short, ...seriesOf(s) })).filter((s) => s.y?.length);
    if (!series.length) return [];
    const place = el("div", { class: "chart" });
    host.append(el("div", { class: "instance" }, data.instances.length > 1 ? el("h3", {}, name) : "", chips(members), place));
    const label = data.instances.length > 1 ? `${options.label}, ${name}` : options.label;
    const what = (x) => options.what(x, series[0].x);
    return [lineChart(place, { ...options, label, what, series: [...series, ...more(members.map(({ s }) => s))] })];
  });
}

function chips(members) {
  const buttons = members.map(({ s, i }) =>
    el("button", { type: "button", class: "chip", "data-series": i, click: () => shown.toggle(i) }, swatch(i), ...breakable(s.short)));
  const mark = () => buttons.forEach((b) => b.setAttribute("aria-pressed", shown.has(Number(b.dataset.series))));
  shown.listeners.push(mark);
  mark();
  return el("div", { class: "chips", role: "group", "aria-label": "Policies shown" }, ...buttons);
}

function regretChart() {
  const scales = { x: { name: "episode", log: false, whole: true }, y: { name: "cumulative regret (units of reward)", log: false } };
  const drawn = charts(byId("regret-chart"),
    { label: "Cumulative regret by episode", ...scales, what: (x) => `episode ${x}` },
    (s) => ({ x: s.episode, y: s.mean, error: s.error }));
  for (const [axis, label] of [["x", "Episodes"], ["y", "Regret"]]) {
    byId("regret-bar").append(choice(label, [["linear", "linear"], ["log", "log"]], "linear", (value) => {
      scales[axis].log = value === "log";
      drawn.forEach((chart) => chart.draw());
    }));
  }
}

function budgetChart() {
  const drawn = charts(byId("budget-chart"), {
    label: "Budget left by step", x: { name: "step", log: false, whole: true }, y: { name: "budget left (units)", log: false, floor: 0 },
    what: (x, steps) => x === steps.at(-1) ? "end of the episode" : `step ${x}`,
  }, (s) => ({ x: s.left.map((_, h) => h + 1), y: s.left, error: s.left_error }));
  if (!drawn.length) {
    byId("budget-chart").append(el("p", { class: "note" }, "The folder has no steps.csv: it was written by an earlier version."));
  }
}

function rewardChart() {
  const none = (values) => values.map(() => null);
  const drawn = charts(byId("reward-chart"), {
    label: "Reward per episode", x: { name: "episode", log: false, whole: true }, y: { name: "reward per episode", log: false },
    what: (x, ends) => {
      const first = (ends[ends.indexOf(x) - 1] ?? 0) + 1;
      return first < x ? `episodes ${first} to ${x}` : `episode ${x}`;
    },
  }, (s) => s.rewards && { x: s.rewards.episode, y: s.rewards.reward, error: none(s.rewards.reward) },
  (members) => {
    const { rewards } = members.find((s) => s.rewards);
    return [{ i: -1, name: "opt", x: rewards.episode, y: rewards.opt, error: none(rewards.opt) }];
  });
  const sizes = new Set(data.series.flatMap((s) => s.rewards ? [s.rewards.episode[0]] : []));
  byId("reward-lead").textContent = (sizes.size > 1 ? "Means of some episodes and of all replications"
    : sizes.has(1) ? "Mean over replications" : `Means of ${[...sizes][0]} episodes and of all replications`)
    + ", beside opt (dotted). Higher is better.";
  if (!drawn.length) byId("reward").remove();
}

/** Regrets of different instances are not ranked together: each has a part of the table, with its own decimals. */
function finalTable() {
  const several = data.instances.length > 1;
  const reference = (s) => data.runs[s.run].run.reference;
  const references = [...new Set(data.series.map(reference))].map((name) => name ?? "the reference");
  const parts = data.instances.map((name, instance) => {
    const rows = data.series.map((s, i) => ({ s, i })).filter(({ s }) => s.instance === instance)
      .sort((a, b) => a.s.mean.at(-1) - b.s.mean.at(-1));
    const all = (value) => rows.map(({ s }) => value(s) ?? null);
    const bands = (error) => all(error).map((e) => e === null ? null : data.band * e);
    const paired = (value) => (s) => s.policy === reference(s) ? null : value(s);
    return { name, rows, columns: [
      ["Final regret ± 3 s.e.", withBands(all((s) => s.mean.at(-1)), bands((s) => s.error.at(-1)))],
      ["Expected regret ± 3 s.e.", withBands(all((s) => s.expected), bands((s) => s.expected_error))],
      [`Over ${references.length === 1 ? references[0] : "the reference"} ± 3 s.e.`,
        withBands(all(paired((s) => s.paired)), bands(paired((s) => s.paired_error)))],
      ["Share of opt", all((s) => s.share_of_opt).map(percent)], ["Reward per episode", column(all((s) => s.mean_reward))],
      ["Slope, last half ± 3 s.e.", withBands(all((s) => s.slope), bands((s) => s.slope_error))],
    ] };
  });
  const filled = (_, c) => parts.some(({ columns }) => columns[c][1].some((cell) => cell !== "–"));
  const heads = parts[0].columns.map(([head]) => head).filter(filled);
  const bodies = parts.map(({ name, rows, columns }) => el("tbody", {},
    several ? el("tr", { class: "group" }, el("th", { scope: "rowgroup", colspan: heads.length + 1 }, name)) : null,
    ...rows.map(({ s, i }, k) => el("tr", { "data-series": i },
      el("th", { scope: "row" }, swatch(i), ...breakable(s.short)),
      ...columns.filter(filled).map(([, cells]) => el("td", {}, cells[k]))))));
  byId("final").append(
    el("thead", {}, el("tr", {}, ...["Policy", ...heads].map((h) => el("th", { scope: "col" }, h)))), ...bodies);
  const mark = () => byId("final").querySelectorAll("tr[data-series]").forEach((row) =>
    row.classList.toggle("off", !shown.has(Number(row.dataset.series))));
  shown.listeners.push(mark);
  const named = data.runs.map(({ label, run }) => `${label}: ${run.reference ?? "none"}`);
  const notes = ["± is 3 standard errors over replications; differences are paired, replication by replication."];
  for (const { label, run } of data.runs.filter((r) => r.run.opt_per_episode_standard_error)) {
    const off = number(data.band * run.opt_per_episode_standard_error * run.episodes);
    notes.push(`${data.runs.length > 1 ? `${label}: opt` : "opt"} is an estimate: all regrets may be off together by ${off}, which paired differences are not.`);
  }
  if (references.length > 1) notes.push(`References: ${named.join("; ")}.`);
  if (several) notes.push("These are different instances, whose regrets cannot be compared: each is ranked by itself.");
  if (data.series.some((s) => s.slope !== null)) {
    notes.push("Slope of log regret against log episode over the last half: 1 is linear growth, 0.5 that of a square root; none if the regret is within its error of zero.");
  }
  byId("final-note").textContent = notes.join(" ");
}

function warnings() {
  const lines = data.series.flatMap((s) => (s.warnings ?? []).map((text) => el("p", { class: "warning" }, `${s.name}: ${text}`)));
  byId("warnings").append(...lines);
}

function settings() {
  for (const { label, folder, name, study, run } of data.runs) {
    const facts = [["Study", name], ["Folder", folder], ["Episodes T", run.episodes], ["Steps H", run.horizon],
      ["Replications", run.replications], ["Seed", run.seed], ["Confidence delta", run.delta],
      ["Computed on", [run.backend, run.precision, run.adapter].filter(Boolean).join(", ")],
      ["Threads", run.threads], ["Time", run.seconds && `${run.seconds.total.toFixed(2)} s`],
      ["Version", run.version]];
    const known = facts.filter(([, value]) => value !== undefined && value !== null && value !== "");
    byId("settings").append(el("article", {},
      data.runs.length > 1 ? el("h3", {}, label) : null,
      el("dl", {}, ...known.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, String(value))))),
      optima(run),
      run.command ? el("p", {}, "The command that made these results:") : null,
      run.command ? code(run.command) : null,
      el("p", {}, "The same results, byte for byte, from the resolved study:"),
      code(`cbwk-gpu simulate ${quoted(`${folder.replace(/\/$/, "")}/study.toml`)} --out again`),
      el("details", {}, el("summary", {}, "study.toml"), code(study))));
  }
}

/** opt and the fluid bound, for at most some budgets. */
function optima(run) {
  const budgets = Object.keys(run.opt ?? {});
  if (!budgets.length) return null;
  const some = budgets.length <= 12 ? budgets
    : Array.from({ length: 12 }, (_, i) => budgets[Math.floor(i * (budgets.length - 1) / 11)]);
  const row = (name, values, show) => el("tr", {}, el("th", { scope: "row" }, name),
    ...some.map((b) => el("td", {}, show(values[b]))));
  const estimated = run.opt_rows ? ` (estimated from ${run.opt_rows} rows)` : "";
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Optimum per starting budget" },
    el("table", { class: "narrow" }, el("tbody", {},
      el("tr", {}, el("th", { scope: "row" }, "Starting budget"), ...some.map((b) => el("td", {}, b))),
      row(`opt per episode${estimated}`, run.opt, (v) => v.toFixed(6)),
      run.opt_standard_error ? row("its standard error", run.opt_standard_error, (v) => v.toFixed(6)) : null,
      row("fluid bound", run.fluid_bound ?? {}, (v) => v === undefined ? "–" : v.toFixed(6)))));
}

/** A word of a shell command. */
const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

theme();
subtitle();
regretChart();
rewardChart();
finalTable();
warnings();
budgetChart();
heatMaps();
settings();
pictures();
