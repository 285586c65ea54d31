// Tools of all pages: data, elements, numbers, ticks, and which series are shown.

const data = JSON.parse(document.getElementById("data").textContent);

/** An HTML element; attributes that are functions become listeners. */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  // Names and other texts enter the page only as text nodes.
  node.append(...children.filter((child) => child !== null));
  return node;
}

const byId = (id) => document.getElementById(id);

/** Colour and dash of series number i, as in the pictures beside the page; below 0 a reference line. */
const colourOf = (i) => i < 0 ? "var(--axis)" : `var(--c${(data.series?.[i]?.colour ?? i) % data.colours})`;
const dashOf = (i) => i < 0 ? "2 3" : data.dashes[(data.series?.[i]?.dash ?? i) % data.dashes.length];

/** A short line in a series' colour and dash. */
function swatch(i) {
  const line = shape("line", { x1: 1, x2: 27, y1: 5, y2: 5, "stroke-width": 3, "stroke-dasharray": dashOf(i) });
  line.style.stroke = colourOf(i);
  return shape("svg", { class: "swatch", width: 28, height: 10, "aria-hidden": "true" }, line);
}

/** A name that may be wrapped after a slash. */
const breakable = (name) => name.split(/(?<=\/)/).flatMap((part, k) => k ? [el("wbr"), part] : [part]);

/** A number with enough digits for its size, or for the size of `like`. */
function number(x, like = x) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  const size = Math.abs(like);
  if (size >= 1e7 || (size > 0 && size < 1e-3)) return x.toExponential(2);
  return unsigned(x.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3));
}

/** Numbers of one column, with the same decimals. */
function column(values) {
  const size = Math.max(...values.filter((v) => v !== null).map(Math.abs), 0);
  const decimals = size >= 1000 ? 1 : size >= 10 || size === 0 ? 2 : Math.min(6, 3 - Math.floor(Math.log10(size)));
  return values.map((v) => (v === null ? "–" : unsigned(v.toFixed(decimals))));
}

/** A column of means with their errors, if any. */
function withBands(means, errors) {
  const cells = column([...means, ...errors]);
  return means.map((_, k) => (errors[k] === null ? cells[k] : `${cells[k]} ± ${cells[means.length + k]}`));
}

/** Zero has no sign. */
const unsigned = (text) => (/^-0\.?0*$/.test(text) ? text.slice(1) : text);

const percent = (x) => (x === null ? "–" : `${(100 * x).toFixed(1)}%`);

/** Round ticks that cover low..high: { low, high, ticks, label }. */
function linearTicks(low, high, count, tight, whole = false) {
  const span = high > low ? high - low : 1;
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = [1, 2, 2.5, 5, 10].map((m) => m * power);
  const fit = steps.find((s) => s >= raw * (1 - 1e-9) && (!whole || Number.isInteger(s))) ?? 10 * power;
  // Steps and episodes are whole numbers.
  const step = whole ? Math.max(1, fit) : fit;
  const slack = tight ? 1e-9 : 0;
  const first = tight ? Math.ceil(low / step - slack) : Math.floor(low / step);
  const last = tight ? Math.floor((low + span) / step + slack) : Math.ceil((low + span) / step);
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step))));
  const more = (step * 10 ** decimals) % 1 > 1e-9 ? 1 : 0;
  const label = (t) => (Math.abs(t) < step * 1e-9 ? "0" : t.toFixed(decimals + more).replace("-", "−"));
  return tight
    ? { low, high: low + span, ticks, label }
    : { low: first * step, high: last * step, ticks, label };
}

function logTicks(low, high, count) {
  if (!(high > low)) high = 10 * low;
  const decades = Math.log10(high / low);
  const digits = decades < count / 3 ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let p = Math.floor(Math.log10(low)) - 1; p <= Math.ceil(Math.log10(high)); p++) {
    if (digits.length === 3 || p % stride === 0) ticks.push(...digits.map((d) => Number(`${d}e${p}`)));
  }
  const shown = ticks.filter((t) => t >= low * (1 - 1e-9) && t <= high * (1 + 1e-9));
  // A short range may contain no such number.
  if (shown.length < 2) return linearTicks(low, high, count, true);
  return { low, high, ticks: shown, label: (t) => (t >= 1e-4 && t < 1e7 ? String(t) : t.toExponential(0)) };
}

/**
 * About `limit` round numbers, and the first, with their places in a rising list of whole numbers: [place, number], between
 * two places where a long axis is thinned.
 */
function roundPlaces(values, limit) {
  const [first, last] = [values[0], values.at(-1)];
  let step = 1;
  for (let k = 0; (last - first) / step >= limit; k++) step = [2, 5, 10][k % 3] * 10 ** Math.floor(k / 3);
  const round = [];
  for (let m = Math.ceil(first / step) * step; m <= last; m += step) round.push(m);
  if (!round.length || round[0] - first > step / 2) round.unshift(first);
  return round.map((m) => {
    const after = values.findIndex((v) => v >= m);
    const before = Math.max(0, after - 1);
    const gap = values[after] - values[before];
    return [gap ? before + (m - values[before]) / gap : after, m];
  });
}

/** Buttons of which one is pressed. */
function choice(label, options, current, choose) {
  const buttons = options.map(([value, text]) =>
    el("button", { type: "button", "data-value": value, click: () => press(value) }, text));
  const mark = (value) => buttons.forEach((b) => b.setAttribute("aria-pressed", b.dataset.value === value));
  const press = (value) => { mark(value); choose(value); };
  mark(current);
  return el("div", { class: "choice", role: "group", "aria-label": label },
    el("span", { "aria-hidden": "true" }, label), ...buttons);
}

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

/** Links to the pictures beside the page. */
function pictures() {
  const link = (name) => el("a", { href: encodeURIComponent(name) }, name);
  byId("pictures").append("The plots as files beside this page: ",
    ...data.pictures.flatMap((name, k) => k ? [", ", link(name)] : [link(name)]), ".");
}

/** Which series are shown, and listeners for changes. */
const shown = {
  hidden: new Set(),
  listeners: [],
  has: (i) => !shown.hidden.has(i),
  toggle(i) {
    if (!shown.hidden.delete(i)) shown.hidden.add(i);
    shown.listeners.forEach((listener) => listener());
  },
};
