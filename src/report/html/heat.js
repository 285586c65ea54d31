// Heat maps over (step, budget): the offers of a policy's last plan beside those of the optimal policy.

function heatMaps() {
  const planning = data.series.filter((s) => s.offers);
  if (!planning.length) {
    byId("offers-bar").hidden = true;
    byId("offers-lead").textContent =
      "These results hold no plans to show: none of the policies plans, or the folder was written by an earlier version.";
    return;
  }
  // Start with a policy that differs from the optimal one.
  let series = planning.find((s) => s.offers.differs) ?? planning[0];
  let metric = "mean";
  let cell = null;
  let panels = [];

  const select = el("select", { id: "offers-policy", change: (e) => { series = planning[e.target.value]; start(); } },
    ...planning.map((s, k) => el("option", { value: k, selected: s === series }, s.name)));
  byId("offers-bar").append(
    el("label", { for: "offers-policy" }, "Policy"), select,
    choice("Show", [["mean", "mean offer"], ["share", "share offered"]], metric, (m) => { metric = m; start(); }));

  const valueOf = (offers, k) => metric === "share" ? offers.share[k]
    : offers.share[k] > 1e-12 ? offers.mean[k] / offers.share[k] : null;

  function start() {
    cell = null;
    draw();
  }

  const optimalOf = (s) => data.runs[s.run].optimal[s.offers.optimal];
  const valuesOf = (offers) => offers.mean.map((_, k) => valueOf(offers, k));

  /** The colours of a run's maps, the same for all of them. */
  function coloursOf(run) {
    const maps = [...data.runs[run].optimal, ...planning.filter((s) => s.run === run).map((s) => s.offers.learnt)];
    const known = maps.flatMap(valuesOf).filter((v) => v !== null);
    let [low, high] = metric === "share" ? [0, 1] : [Math.min(...known), Math.max(...known)];
    if (!(low < high)) [low, high] = Number.isFinite(low) ? [low - 0.5, low + 0.5] : [0, 1];
    const colour = (v) => v === null ? "var(--none)"
      : data.ramp[Math.round((v - low) / (high - low) * (data.ramp.length - 1))];
    return { run, low, high, colour };
  }

  function draw() {
    const action = data.runs[series.run].action;
    byId("offers-lead").textContent = metric === "mean"
      ? `Mean ${action} that the plan after the last episode offers at each step and budget left, over the contexts that are offered one, averaged over replications.`
      : "Share of arriving contexts to which the plan after the last episode makes an offer, averaged over replications.";
    const colours = coloursOf(series.run);
    const maps = [[`${series.name} (learnt)`, series.offers.learnt], ["optimal policy", optimalOf(series)]];
    panels = figures(byId("offers-panels"), series.offers, maps, colours);
    byId("offers-scale").replaceChildren(scale(colours, maps));
    printed();
    read();
  }

  /** In print there is nothing to choose: the maps of all policies are shown, run by run. */
  function printed() {
    const host = byId("offers-print");
    host.replaceChildren();
    data.runs.forEach(({ label, optimal }, run) => {
      const colours = coloursOf(run);
      optimal.forEach((offers, place) => {
        const compared = planning.filter((s) => s.run === run && s.offers.optimal === place);
        const same = compared.filter((s) => !s.offers.differs).map((s) => s.policy);
        const maps = [[["optimal policy", ...same].join(", "), offers],
          ...compared.filter((s) => s.offers.differs).map((s) => [s.policy, s.offers.learnt])];
        const room = el("div", { class: "panels" });
        host.append(data.runs.length > 1 ? el("h3", {}, label) : "", room, scale(colours, maps));
        figures(room, compared[0].offers, maps, colours);
      });
    });
    // No pointer in print, and no focus on a screen that does not show them.
    host.querySelectorAll(".plot").forEach((plot) => plot.removeAttribute("tabindex"));
  }

  /** A figure for each map, [name, offers]. All are inserted before one is drawn, so that their widths are known. */
  function figures(host, { steps, budgets }, maps, { colour }) {
    const places = maps.map(([name]) => el("figure", {}, el("figcaption", {}, name)));
    host.replaceChildren(...places);
    return maps.map(([name, offers], k) => panel(places[k], name, steps, budgets, valuesOf(offers), colour));
  }

  function panel(figure, name, steps, budgets, values, colour) {
    const stage = el("div", {
      class: "plot", tabindex: 0, role: "group", "aria-label": `${name}: heat map. Arrow keys read the values.`,
      pointermove: (e) => point(e), pointerdown: (e) => point(e), pointerleave: () => { cell = null; read(); },
      keydown: (e) => key(e),
    });
    figure.append(stage);
    const width = Math.max(260, widthOf(stage, 400, 2));
    const height = Math.round(Math.max(200, Math.min(320, width * 0.62)));
    const frame = { left: 22 + 8 * String(budgets.at(-1)).length + 12, right: width - 6, top: 6, bottom: height - 42 };
    const w = (frame.right - frame.left) / steps.length;
    const h = (frame.bottom - frame.top) / budgets.length;
    const corner = (i, j) => [frame.left + i * w, frame.bottom - (j + 1) * h];
    const cells = shape("g", { "shape-rendering": "crispEdges" });
    steps.forEach((_, i) => budgets.forEach((_, j) => {
      const [x, y] = corner(i, j);
      // Slightly larger than its cell, so that rounding leaves no seam.
      const rect = shape("rect", { x: x.toFixed(2), y: y.toFixed(2), width: (w + 0.4).toFixed(2), height: (h + 0.4).toFixed(2) });
      rect.style.fill = colour(values[i * budgets.length + j]);
      cells.append(rect);
    }));
    const mark = shape("rect", { class: "mark", width: w, height: h, visibility: "hidden" });
    stage.append(shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name },
      cells,
      shape("rect", { class: "edge", x: frame.left, y: frame.top, width: w * steps.length, height: h * budgets.length }),
      ...roundPlaces(steps, width < 340 ? 5 : 8).map(([i, step]) => shape("text",
        { x: corner(i, 0)[0] + w / 2, y: frame.bottom + 17, "text-anchor": "middle" }, String(step))),
      ...roundPlaces(budgets, 6).map(([j, units]) => shape("text",
        { x: frame.left - 6, y: corner(0, j)[1] + h / 2 + 4, "text-anchor": "end" }, String(units))),
      shape("text", { class: "name", x: (frame.left + frame.right) / 2, y: height - 6, "text-anchor": "middle" }, "step"),
      shape("text", {
        class: "name", "text-anchor": "middle",
        transform: `translate(13 ${(frame.top + frame.bottom) / 2}) rotate(-90)`,
      }, "budget left (units)"),
      mark));

    function point(event) {
      const box = stage.getBoundingClientRect();
      const i = Math.floor(((event.clientX - box.left) * width / box.width - frame.left) / w);
      const j = Math.floor((frame.bottom - (event.clientY - box.top) * height / box.height) / h);
      cell = i >= 0 && j >= 0 && i < steps.length && j < budgets.length ? [i, j] : null;
      read();
    }

    function key(event) {
      const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const last = [steps.length - 1, budgets.length - 1];
      if (event.key === "Escape") cell = null;
      else if (event.key === "Home") cell = [0, last[1]];
      else if (event.key === "End") cell = [last[0], 0];
      else if (moves[event.key]) {
        const [i, j] = cell ?? [moves[event.key][0] < 0 ? last[0] + 1 : -1, last[1]];
        cell = [i, j].map((v, k) => Math.max(0, Math.min(last[k], v + moves[event.key][k])));
      } else return;
      event.preventDefault();
      read();
    }

    return { values, mark, corner };
  }

  /** Marks the cell in both panels and shows its offers. */
  function read() {
    const { steps, budgets } = series.offers;
    const show = (v) => v === null ? "no offer" : metric === "share" ? percent(v) : number(v);
    for (const { mark, corner } of panels) {
      mark.setAttribute("visibility", cell ? "visible" : "hidden");
      if (cell) {
        const [x, y] = corner(...cell);
        mark.setAttribute("x", x);
        mark.setAttribute("y", y);
      }
    }
    const k = cell && cell[0] * budgets.length + cell[1];
    byId("offers-readout").textContent = cell
      ? `Step ${steps[cell[0]]}, ${budgets[cell[1]]} left: learnt ${show(panels[0].values[k])}, optimal ${show(panels[1].values[k])}.`
      : "Point at a cell, or focus a map and use the arrow keys, to read its values.";
  }

  /** The colour scale, with a box for cells without an offer, if a map has any. */
  function scale({ run, low, high }, maps) {
    const [width, bar] = [420, 300];
    const name = metric === "share" ? "share of contexts offered anything" : `mean ${data.runs[run].action} where one is offered`;
    const slices = data.ramp.map((colour, k) => {
      const slice = shape("rect", {
        x: 14 + k * bar / data.ramp.length, y: 4, width: bar / data.ramp.length + 1, height: 14,
        "shape-rendering": "crispEdges",
      });
      slice.style.fill = colour;
      return slice;
    });
    const { ticks, label } = linearTicks(low, high, 5, true);
    const marks = ticks.map((t) => shape("text",
      { x: 14 + (t - low) / (high - low) * bar, y: 34, "text-anchor": "middle" }, label(t)));
    const none = shape("rect", { x: bar + 34, y: 4, width: 14, height: 14 });
    none.style.fill = "var(--none)";
    const without = maps.some(([, offers]) => valuesOf(offers).includes(null));
    return shape("svg",
      { class: "scale", viewBox: `0 0 ${width} 56`, role: "img", "aria-label": `Colours: ${name}, from ${number(low)} to ${number(high)}` },
      ...slices, ...marks, shape("text", { class: "name", x: 14 + bar / 2, y: 52, "text-anchor": "middle" }, name),
      ...(without ? [none, shape("text", { x: bar + 54, y: 15.5 }, "no offer")] : []));
  }

  drawnAtEveryWidth(byId("offers-panels"), draw);
}
