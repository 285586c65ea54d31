// Pictures made of a few marks: an SVG with axes, redrawn at every width.

/**
 * options: label, x and y ({ name, low, high, label?, whole?, tight? }), marks(place) that returns shapes; place.x and place.y turn
 * values into pixels.
 */
function picture(host, options) {
  const stage = el("div", { class: "plot" });
  host.append(stage);
  function draw() {
    const width = Math.max(260, widthOf(stage, 480));
    const height = Math.round(Math.max(230, Math.min(340, width * 0.62)));
    const axis = (a, count, tight) => linearTicks(a.low, a.high, count, tight, a.whole);
    const x = axis(options.x, Math.max(3, Math.min(7, width / 80)), true);
    const y = axis(options.y, 5, options.y.tight ?? false);
    const show = (a, scale) => a.label ?? scale.label;
    const widest = Math.max(...y.ticks.map((t) => show(options.y, y)(t).length), 1);
    const frame = { left: 34 + 7.5 * widest, right: width - 12, top: 10, bottom: height - 46 };
    const along = (scale, from, to) => (v) => from + (v - scale.low) / (scale.high - scale.low) * (to - from);
    const place = { x: along(x, frame.left, frame.right), y: along(y, frame.bottom, frame.top), frame };
    const lines = y.ticks.flatMap((t) => [
      shape("line", { class: t === 0 ? "zero" : "grid", x1: frame.left, x2: frame.right, y1: place.y(t), y2: place.y(t) }),
      shape("text", { x: frame.left - 8, y: place.y(t) + 4, "text-anchor": "end" }, show(options.y, y)(t)),
    ]);
    const names = x.ticks.map((t) => shape("text",
      { x: place.x(t), y: frame.bottom + 18, "text-anchor": "middle" }, show(options.x, x)(t)));
    stage.replaceChildren(shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": options.label },
      ...lines,
      shape("line", { class: "zero", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }),
      ...options.marks(place), ...names,
      shape("text", { class: "name", x: (frame.left + frame.right) / 2, y: height - 8, "text-anchor": "middle" }, options.x.name),
      shape("text", { class: "name", "text-anchor": "middle",
        transform: `translate(13 ${(frame.top + frame.bottom) / 2}) rotate(-90)` }, options.y.name)));
  }
  drawnAtEveryWidth(stage, draw);
}

/** A dot with an optional interval and a tooltip. */
function dot(place, x, y, low, high, colour, words) {
  const at = place.x(x);
  const mark = shape("circle", { class: "dot", cx: at, cy: place.y(y), r: 5 }, shape("title", {}, words));
  mark.style.fill = colour;
  if (low === null) return [mark];
  const line = shape("line", { class: "error", x1: at, x2: at, y1: place.y(low), y2: place.y(high) });
  line.style.stroke = colour;
  return [line, mark];
}

/** Names of colours under a picture. */
function legend(...entries) {
  return el("p", { class: "legend" }, ...entries.map(([name, colour, box]) => {
    const mark = el("i", box ? { class: "box" } : {});
    mark.style.background = colour;
    return el("span", {}, mark, name);
  }));
}

const share = (x) => `${Math.round(100 * x)}%`;
const exactShare = (x) => `${(100 * x).toFixed(1)}%`;

/** A section with its title. */
function section(id, title, lead, ...children) {
  const part = el("section", { "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), lead ? el("p", { class: "lead" }, lead) : null, ...children);
  byId("main").append(part);
  return part;
}

/** A table that scrolls if it is too wide. */
function table(label, heads, rows) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    el("table", {},
      el("thead", {}, el("tr", {}, ...heads.map((h, i) => el("th", { scope: "col", class: i ? null : "text" }, h)))),
      el("tbody", {}, ...rows.map(({ cells, mark }) => el("tr", { class: mark ?? null },
        ...cells.map((c, i) => i ? el("td", {}, c) : el("th", { scope: "row", class: "text" }, c)))))));
}
