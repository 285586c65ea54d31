// The page of a sweep: its charts are part of the HTML; legend, table and settings are added here.

function legends() {
  for (const host of document.querySelectorAll(".legend")) {
    host.append(...data.series.map((s, i) => el("span", { class: "name" }, swatch(i), s.name)));
  }
}

function sweepTable() {
  const result = (name) => data.rows.map(({ result }) => result[name] ?? null);
  const band = (name) => result(name).map((error) => (error === null ? null : data.band * error));
  const other = (values) => values.map((v, k) => (data.rows[k].result.policy === data.reference ? null : v));
  const numbers = [
    ["Final regret ± 3 s.e.", withBands(result("final_regret"), band("standard_error"))],
    [`Over ${data.reference} ± 3 s.e.`, data.reference === null ? [] : withBands(other(result("paired_difference")), other(band("paired_standard_error")))],
    ["Expected regret ± 3 s.e.", withBands(result("expected_regret"), band("expected_standard_error"))],
    ["Share of opt", result("share_of_opt").map(percent)],
    ["Reward per episode", column(result("mean_reward"))], ["opt", column(result("opt"))],
    ["Slope ± 3 s.e.", withBands(result("slope"), band("slope_standard_error"))],
  ].filter(([, cells]) => cells.some((cell) => cell !== "–"));
  // The full paths are shown above; the table is narrow.
  const ends = data.keys.map((key) => key.split(".").at(-1));
  const keys = new Set(ends).size === ends.length ? ends : data.keys;
  const places = new Map(data.series.map((s, i) => [s.name, i]));
  byId("final").append(
    el("thead", {}, el("tr", {}, ...["Policy", ...keys, ...numbers.map(([head]) => head)].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, ...data.rows.map(({ values, result }, k) => el("tr", {},
      el("th", { scope: "row" }, places.has(result.policy) ? swatch(places.get(result.policy)) : null, result.policy),
      ...values.map((v) => el("td", {}, v)), ...numbers.map(([, cells]) => el("td", {}, cells[k]))))));
}

theme();
byId("subtitle").textContent = `Swept: ${data.keys.join(", ")}. ${data.setting}.`;
byId("warnings").append(...data.warnings.map((text) => el("p", { class: "warning" }, text)));
legends();
sweepTable();
if (data.commands.length) byId("settings").append(el("p", {}, "The command that made these results:"), code(data.commands[0]));
pictures();
