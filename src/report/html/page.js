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
  const scales = { x: { name: "episode", log: false }, y: { name: "cumulative regret (units of reward)", log: false } };
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
    label: "Budget left by step", x: { name: "step", log: false }, y: { name: "budget left (units)", log: false, floor: 0 },
    what: (x) => x === last ? "end of the episode" : `step ${x}`,
    series,
  });
}

function finalTable() {
  const slopes = data.series.some((s) => s.slope !== null);
  const heads = ["Policy", "Final regret", "± 3 s.e.", "s.e.", "Share of opt", "Reward per episode"];
  const paired = data.series.some((s) => s.paired !== null && s.paired !== undefined);
  if (paired) heads.push("Over the clairvoyant", "± 3 s.e. of the pairs");
  if (slopes) heads.push("Slope, last half");
  const rows = data.series.map((s, i) => ({ s, i })).sort((a, b) => a.s.mean.at(-1) - b.s.mean.at(-1));
  const all = (value) => rows.map(({ s }) => value(s));
  const band = (error) => error === null ? null : data.band * error;
  const columns = [column(all((s) => s.mean.at(-1))), column(all((s) => band(s.error.at(-1)))),
    column(all((s) => s.error.at(-1))), all((s) => percent(s.share_of_opt)), column(all((s) => s.mean_reward))];
  if (paired) columns.push(column(all((s) => s.paired ?? null)), column(all((s) => band(s.paired_error ?? null))));
  const slope = (s) => s.slope === null ? "–"
    : s.slope.toFixed(2) + (s.slope_error === null ? "" : ` ± ${(data.band * s.slope_error).toFixed(2)}`);
  if (slopes) columns.push(all(slope));
  const body = el("tbody", {}, ...rows.map(({ s, i }, k) =>
    el("tr", { "data-series": i }, el("th", { scope: "row" }, swatch(i), s.name),
      ...columns.map((cells) => el("td", {}, cells[k])))));
  byId("final").append(
    el("thead", {}, el("tr", {}, ...heads.map((h) => el("th", { scope: "col" }, h)))), body);
  const mark = () => body.querySelectorAll("tr").forEach((row) =>
    row.classList.toggle("off", !shown.has(Number(row.dataset.series))));
  shown.listeners.push(mark);
  byId("final-note").textContent = slopes
    ? "Slope of log regret against log episode over the last half: 1 is linear growth, 0.5 that of a square root." : "";
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

/** Links to the pictures beside the page. */
function pictures() {
  const link = (name) => el("a", { href: encodeURIComponent(name) }, name);
  byId("pictures").append("The plots as files beside this page: ",
    ...data.pictures.flatMap((name, k) => k ? [", ", link(name)] : [link(name)]), ".");
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

/** Text to copy. */
function code(text) {
  const block = el("pre", { tabindex: 0 }, text);
  const button = el("button", { type: "button", class: "copy", click: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(block);
      button.textContent = "Selected";
    }
  } }, "Copy");
  return el("div", { class: "code" }, block, button);
}

theme();
subtitle();
chips();
regretChart();
finalTable();
warnings();
budgetChart();
heatMaps();
settings();
pictures();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
