// A line chart with bands, a cursor that reads values, and linear or logarithmic axes.

/**
 * options: label, x and y ({ name, log, floor }), what (names a place on x), series: [{ i, name, x, y, error }].
 * Returns { draw }, to be called when a scale or the shown series change.
 */
function lineChart(host, options) {
  const tip = el("div", { class: "tip", hidden: true });
  const status = el("p", { class: "quiet", role: "status" });
  const note = el("p", { class: "note" });
  const plot = el("div", {
    class: "plot", tabindex: 0, role: "group",
    "aria-label": `${options.label}. Arrow keys read the values.`,
    pointermove: (e) => point(e), pointerdown: (e) => point(e), pointerleave: (e) => e.pointerType !== "touch" && move(null),
    blur: () => move(null), keydown: (e) => key(e),
  });
  host.append(el("div", { class: "stage" }, plot, tip), status, note);
  let view = null;
  let cursor = null;
  let said = "";

  const fits = (x, y) => Number.isFinite(y) && !(options.x.log && x <= 0) && !(options.y.log && y <= 0);
  const lowest = (s, k) => Math.max(options.y.floor ?? -Infinity, s.y[k] - half(s, k));
  const half = (s, k) => data.band * (s.error[k] ?? 0);

  function draw() {
    const width = Math.max(280, widthOf(plot, 800));
    const height = Math.round(Math.max(300, Math.min(440, width * 0.55)));
    const series = options.series.filter((s) => s.i < 0 || shown.has(s.i));
    const all = { x: [], y: [] };
    for (const s of series) {
      s.x.forEach((x, k) => {
        if (!fits(x, s.y[k])) return;
        all.x.push(x);
        // On a logarithmic axis a band that reaches zero would need infinite room.
        all.y.push(s.y[k] + half(s, k), options.y.log ? s.y[k] : lowest(s, k));
      });
    }
    const y = scale(options.y.log, all.y, height < 340 ? 5 : 7, !options.y.log, false);
    const left = 34 + 7.5 * Math.max(...y.ticks.map((t) => y.label(t).length), 1);
    const frame = { left, right: width - 16, top: 12, bottom: height - 48 };
    const x = scale(options.x.log, all.x, Math.max(3, Math.min(8, width / 90)), false, true, options.x.whole);
    if (options.x.whole) x.ticks = x.ticks.filter(Number.isInteger);
    x.place = placer(x, options.x.log, frame.left, frame.right);
    y.place = placer(y, options.y.log, frame.bottom, frame.top);
    view = { x, y, frame, series, width, height };
    const cursorLayer = shape("g", { class: "cursor" });
    view.cursorLayer = cursorLayer;
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": options.label },
      ...axes(view), ...series.flatMap((s) => lines(view, s)), cursorLayer);
    plot.replaceChildren(picture);
    const lost = options.y.log && series.some((s) => s.y.some((v) => v <= 0));
    note.textContent = series.length === 0 ? "No policy is shown."
      : lost ? "Values that are not positive cannot be shown on a logarithmic axis." : "";
    move(cursor, false);
  }

  function scale(log, values, count, fromZero, tight, whole = false) {
    const usable = fromZero ? values.concat(0) : values;
    let low = Infinity, high = -Infinity;
    for (const v of usable) { low = Math.min(low, v); high = Math.max(high, v); }
    if (!(low <= high)) [low, high] = [log ? 1 : 0, log ? 10 : 1];
    return log ? logTicks(low, high, count) : linearTicks(low, high, count, tight, whole);
  }

  function placer(axis, log, from, to) {
    const at = log ? Math.log : (v) => v;
    const [a, b] = [at(axis.low), at(axis.high)];
    return (v) => from + (at(Math.max(axis.low, Math.min(axis.high, v))) - a) / (b - a) * (to - from);
  }

  function axes({ x, y, frame, height }) {
    const parts = [];
    for (const t of y.ticks) {
      const at = y.place(t);
      parts.push(
        shape("line", { class: t === 0 ? "zero" : "grid", x1: frame.left, x2: frame.right, y1: at, y2: at }),
        shape("text", { x: frame.left - 8, y: at + 4, "text-anchor": "end" }, y.label(t)));
    }
    for (const t of x.ticks) {
      const at = x.place(t);
      parts.push(
        shape("line", { class: "zero", x1: at, x2: at, y1: frame.bottom, y2: frame.bottom + 5 }),
        shape("text", { x: at, y: frame.bottom + 19, "text-anchor": "middle" }, x.label(t)));
    }
    const middle = (frame.top + frame.bottom) / 2;
    parts.push(
      shape("path", { class: "zero", d: `M${frame.left} ${frame.top}V${frame.bottom}H${frame.right}`, fill: "none" }),
      shape("text", { class: "name", x: (frame.left + frame.right) / 2, y: height - 8, "text-anchor": "middle" },
        options.x.name),
      shape("text", { class: "name", transform: `translate(14 ${middle}) rotate(-90)`, "text-anchor": "middle" },
        options.y.name));
    return parts;
  }

  /** The band and the line of a series, in pieces if some values cannot be shown. */
  function lines({ x, y }, s) {
    const pieces = [[]];
    s.x.forEach((px, k) => {
      if (fits(px, s.y[k])) pieces.at(-1).push(k);
      else if (pieces.at(-1).length) pieces.push([]);
    });
    const at = (k, v) => `${x.place(s.x[k]).toFixed(1)} ${y.place(v).toFixed(1)}`;
    const parts = [];
    for (const piece of pieces.filter((p) => p.length)) {
      // A line of one point is invisible.
      if (piece.length === 1) {
        const [k] = piece;
        const dot = shape("circle", { class: "line", cx: x.place(s.x[k]), cy: y.place(s.y[k]), r: 3 });
        const bar = shape("line", { class: "line", x1: x.place(s.x[k]), x2: x.place(s.x[k]), y1: y.place(lowest(s, k)), y2: y.place(s.y[k] + half(s, k)) });
        dot.style.fill = dot.style.stroke = bar.style.stroke = colourOf(s.i);
        bar.style.strokeWidth = 1;
        parts.push(bar, dot);
        continue;
      }
      const upper = piece.map((k) => at(k, s.y[k] + half(s, k)));
      const lower = piece.map((k) => at(k, lowest(s, k))).reverse();
      const band = shape("path", { class: "band", d: `M${upper.concat(lower).join("L")}Z` });
      const line = shape("path", {
        class: "line", d: `M${piece.map((k) => at(k, s.y[k])).join("L")}`, "stroke-dasharray": dashOf(s.i),
      });
      band.style.fill = line.style.stroke = colourOf(s.i);
      parts.push(band, line);
    }
    return parts.sort((a, b) => a.classList.contains("line") - b.classList.contains("line"));
  }

  /** Every x of the shown series, in order. */
  function stops() {
    const all = new Set(view.series.flatMap((s) => s.x.filter((x) => !(options.x.log && x <= 0))));
    return [...all].sort((a, b) => a - b);
  }

  function nearest(list, value, place = (v) => v) {
    let best = 0;
    list.forEach((v, k) => {
      if (Math.abs(place(v) - place(value)) < Math.abs(place(list[best]) - place(value))) best = k;
    });
    return best;
  }

  function point(event) {
    const box = plot.getBoundingClientRect();
    const px = (event.clientX - box.left) * view.width / box.width;
    const list = stops();
    if (!list.length) return;
    let best = 0;
    list.forEach((v, k) => {
      if (Math.abs(view.x.place(v) - px) < Math.abs(view.x.place(list[best]) - px)) best = k;
    });
    move(list[best]);
  }

  function key(event) {
    const list = stops();
    if (!list.length) return;
    const here = cursor === null ? -1 : nearest(list, cursor);
    const page = Math.max(1, Math.round(list.length / 10));
    const to = {
      ArrowRight: here + 1, ArrowLeft: here < 0 ? list.length - 1 : here - 1,
      PageDown: here + page, PageUp: here - page, Home: 0, End: list.length - 1,
    }[event.key];
    if (event.key === "Escape") move(null);
    if (to === undefined) return;
    event.preventDefault();
    move(list[Math.max(0, Math.min(list.length - 1, to))]);
    status.textContent = said;
  }

  /** Moves the cursor to x, or hides it. */
  function move(x) {
    cursor = x;
    view.cursorLayer.replaceChildren();
    const read = x === null ? [] : view.series
      .filter((s) => x >= s.x[0] && x <= s.x.at(-1))
      .map((s) => ({ s, k: nearest(s.x, x) }))
      .sort((a, b) => b.s.y[b.k] - a.s.y[a.k]);
    tip.hidden = read.length === 0;
    if (!read.length) return;
    const at = view.x.place(x);
    view.cursorLayer.append(
      shape("line", { x1: at, x2: at, y1: view.frame.top, y2: view.frame.bottom }),
      ...read.filter(({ s, k }) => fits(s.x[k], s.y[k])).map(({ s, k }) => {
        const dot = shape("circle", { cx: view.x.place(s.x[k]), cy: view.y.place(s.y[k]), r: 4 });
        dot.style.fill = colourOf(s.i);
        return dot;
      }));
    const value = ({ s, k }) =>
      number(s.y[k]) + (s.error[k] === null ? "" : ` ± ${number(data.band * s.error[k])}`);
    tip.replaceChildren(el("b", {}, options.what(x)), ...read.map((at) => el("div", { class: "row" },
      swatch(at.s.i), el("span", {}, at.s.name), el("span", { class: "value" }, value(at)))));
    said = `${options.what(x)}: ${read.map((at) => `${at.s.name} ${value(at)}`).join("; ")}`;
    const share = at / view.width;
    tip.style.left = share < 0.5 ? `calc(${100 * share}% + 14px)` : "auto";
    tip.style.right = share < 0.5 ? "auto" : `calc(${100 * (1 - share)}% + 14px)`;
  }

  shown.listeners.push(draw);
  drawnAtEveryWidth(plot, draw);
  return { draw };
}
