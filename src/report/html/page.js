// The page itself: title, policies, plots, tables, settings.

function subtitle() {
  const { run } = data.runs[0];
  const of = (r) => `T = ${r.episodes} episodes, H = ${r.horizon} steps, ${r.replications} replications`;
  const same = data.runs.every((other) => of(other.run) === of(run));
  const folders = data.runs.length === 1 ? "" : `${data.runs.length} result folders compared. `;
  byId("subtitle").textContent = folders + (same ? of(run) : "Their sizes differ: see the settings.");
}

/** A button per series that hides and shows it, wherever the page has room for them. */
function chips() {
  for (const host of document.querySelectorAll("[data-chips]")) {
    const buttons = data.series.map((s, i) =>
      el("button", { type: "button", class: "chip", "data-series": i, click: () => shown.toggle(i) }, swatch(i), s.name));
    const mark = () => buttons.forEach((b, i) => b.setAttribute("aria-pressed", shown.has(i)));
    shown.listeners.push(mark);
    mark();
    host.append(...buttons);
  }
}

function regretChart() {
  const scales = { x: { name: "episode", log: false, whole: true }, y: { name: "cumulative regret (units of reward)", log: false } };
  const chart = lineChart(byId("regret-chart"), {
    label: "Cumulative regret by episode", ...scales,
    what: (x) => `episode ${x}`,
    series: data.series.map((s, i) => ({ i, name: s.name, x: s.episode, y: s.mean, error: s.error })),
  });
  for (const [axis, label] of [["x", "Episodes"], ["y", "Regret"]]) {
    byId("regret-bar").append(choice(label, [["linear", "linear"], ["log", "log"]], "linear", (value) => {
      scales[axis].log = value === "log";
      chart.draw();
    }));
  }
}

function budgetChart() {
  const series = data.series
    .map((s, i) => ({ i, name: s.name, x: s.left.map((_, h) => h + 1), y: s.left, error: s.left_error }))
    .filter((s) => s.y.length);
  if (!series.length) {
    byId("budget-chart").append(el("p", { class: "note" }, "The folder has no steps.csv: it was written by an earlier version."));
    return;
  }
  const last = Math.max(...series.map((s) => s.x.length));
  lineChart(byId("budget-chart"), {
    label: "Budget left by step", x: { name: "step", log: false, whole: true }, y: { name: "budget left (units)", log: false, floor: 0 },
    what: (x) => x === last ? "end of the episode" : `step ${x}`,
    series,
  });
}

function rewardChart() {
  const series = data.series.map((s, i) => ({ s, i })).filter(({ s }) => s.rewards)
    .map(({ s, i }) => ({ i, name: s.name, x: s.rewards.episode, y: s.rewards.reward, error: s.rewards.reward.map(() => null) }));
  const alike = data.series.every((s) => s.group === data.series[0].group);
  if (!series.length || !alike) { byId("reward").remove(); return; }
  const { episode, opt } = data.series[0].rewards;
  const size = episode[0];
  byId("reward-lead").textContent = size > 1 ? `Means of ${size} episodes and of all replications, beside opt (dotted). Higher is better.`
    : "Mean over replications, beside opt (dotted). Higher is better.";
  series.push({ i: -1, name: "opt", x: episode, y: opt, error: opt.map(() => null) });
  lineChart(byId("reward-chart"), {
    label: "Reward per episode", x: { name: "episode", log: false, whole: true }, y: { name: "reward per episode", log: false },
    what: (x) => size > 1 ? `episodes ${Math.max(1, x - size + 1)} to ${x}` : `episode ${x}`,
    series,
  });
}

/** Regrets of unlike instances are not ranked together: a part of the table for each. */
function finalTable() {
  const rows = data.series.map((s, i) => ({ s, i }))
    .sort((a, b) => a.s.group - b.s.group || a.s.mean.at(-1) - b.s.mean.at(-1));
  const all = (value) => rows.map(({ s }) => value(s) ?? null);
  const band = (error) => error === null || error === undefined ? null : data.band * error;
  const reference = (s) => data.runs[s.run].run.reference;
  const paired = (value) => (s) => s.policy === reference(s) ? null : value(s);
  const references = [...new Set(data.series.map(reference))];
  const columns = [
    ["Final regret ± 3 s.e.", withBands(all((s) => s.mean.at(-1)), all((s) => band(s.error.at(-1))))],
    ["Expected regret ± 3 s.e.", withBands(all((s) => s.expected), all((s) => band(s.expected_error)))],
    [`Over ${references.length === 1 ? references[0] : "the reference"} ± 3 s.e.`,
      withBands(all(paired((s) => s.paired)), all(paired((s) => band(s.paired_error))))],
    ["Share of opt", all((s) => s.share_of_opt).map(percent)], ["Reward per episode", column(all((s) => s.mean_reward))],
    ["Slope, last half ± 3 s.e.", withBands(all((s) => s.slope), all((s) => band(s.slope_error)))],
  ].filter(([, cells]) => cells.some((cell) => cell !== "–"));
  const groups = [...new Set(rows.map(({ s }) => s.group))];
  const bodies = groups.map((group) => {
    const names = [...new Set(rows.filter(({ s }) => s.group === group).map(({ s }) => data.runs[s.run].label))];
    const head = groups.length === 1 ? null
      : el("tr", { class: "group" }, el("th", { scope: "rowgroup", colspan: columns.length + 1 }, names.join(", ")));
    return el("tbody", {}, head, ...rows.map((row, k) => ({ ...row, k })).filter(({ s }) => s.group === group).map(({ s, i, k }) =>
      el("tr", { "data-series": i }, el("th", { scope: "row" }, swatch(i), s.name),
        ...columns.map(([, cells]) => el("td", {}, cells[k])))));
  });
  byId("final").append(
    el("thead", {}, el("tr", {}, ...["Policy", ...columns.map(([head]) => head)].map((h) => el("th", { scope: "col" }, h)))), ...bodies);
  const mark = () => byId("final").querySelectorAll("tr[data-series]").forEach((row) =>
    row.classList.toggle("off", !shown.has(Number(row.dataset.series))));
  shown.listeners.push(mark);
  const notes = ["± is 3 standard errors over replications; differences are paired, replication by replication."];
  if (groups.length > 1) notes.push("These are different instances, whose regrets cannot be compared: each is ranked by itself.");
  if (data.series.some((s) => s.slope !== null)) {
    notes.push("Slope of log regret against log episode over the last half: 1 is linear growth, 0.5 that of a square root; none where regret is within its error of zero.");
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

/** opt and the fluid bound, for some budgets where there are many. */
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
chips();
regretChart();
rewardChart();
finalTable();
warnings();
budgetChart();
heatMaps();
settings();
pictures();
