// The page of a plan: the offer to make now, and the offers at all steps and budgets to one kind of customer.

const { plan } = data;
const now = { step: 0, budget: plan.budget, column: plan.columns.map((c) => c.start) };
const money = (x) => number(x, Math.max(Math.abs(x), 0.01));

/** The chosen segment. */
function chosen() {
  return plan.segments.find((s) => s.values.every((v, i) => v === now.column[i])) ?? plan.segments[0];
}

/** The offer of a cell: the number of its action (0 is none) and its details. */
function offerAt(segment, step, budget) {
  const [i, j] = [plan.steps.indexOf(step + 1), plan.budgets.indexOf(budget)];
  const action = segment.offers[i * plan.budgets.length + j];
  const units = action ? segment.costs[action - 1] : Math.min(...segment.costs);
  const next = plan.next[segment.group]?.[i];
  const cost = next ? next[budget] - next[Math.max(0, budget - units)] : plan.gaps[segment.group][i][plan.costs.indexOf(units)][j];
  return { action, cost, value: plan.values[segment.group][i][j],
    price: action ? plan.actions[action - 1] : null, acceptance: action ? segment.acceptance[action - 1] : null,
    doubtful: action > 0 && !segment.supported[action - 1] };
}

function asking() {
  const part = section("now", "What would you offer now?", `Choose the moment, the units left and the customer.`);
  const select = (id, label, options, current, choose) => el("div", {},
    el("label", { for: id }, label),
    el("select", { id, change: (e) => { choose(Number(e.target.value)); show(); } },
      ...options.map(([value, text]) => el("option", { value, selected: value === current }, text))));
  const steps = plan.steps.map((h) => [h - 1, plan.starts.length ? `${h} (${plan.starts[h - 1]})` : String(h)]);
  const budgets = plan.budgets.map((b) => [b, String(b)]);
  const fields = [
    select("step", "step", steps, now.step, (h) => { now.step = h; }),
    select("budget", "units left", budgets, now.budget, (b) => { now.budget = b; }),
    ...plan.columns.map((c, i) => c.values.length > 1
      ? select(`column-${i}`, c.name, c.values.map((v, k) => [k, v === "" ? "(missing)" : v]), now.column[i], (k) => { now.column[i] = k; })
      : null),
  ].filter(Boolean);
  part.append(el("div", { class: "asked" }, ...fields), el("dl", { class: "answer", id: "answer", "aria-live": "polite" }));
  const fixed = plan.columns.filter((c) => c.values.length === 1);
  if (fixed.length) {
    part.append(el("p", { class: "note" }, `Set to typical values, because they matter less: ${fixed.map((c) => `${c.name} ${c.values[0] || "(missing)"}`).join(", ")}.`));
  }
}

function answer() {
  const offer = offerAt(chosen(), now.step, now.budget);
  const entry = (term, words, mark) => el("div", { class: mark ?? null }, el("dt", {}, term), el("dd", {}, words));
  const acceptance = offer.acceptance === null ? "–"
    : `${exactShare(offer.acceptance[0])} (${exactShare(offer.acceptance[1])} to ${exactShare(offer.acceptance[2])})${
      offer.doubtful ? "; such customers hardly ever had this offer" : ""}`;
  byId("answer").replaceChildren(
    entry(plan.action, offer.price === null ? "no offer" : String(offer.price), "offer"),
    entry("will be accepted", acceptance),
    entry("the units are worth later", money(offer.cost)),
    entry("expected from here on", money(offer.value)));
}

/** Offers of the chosen customer by step and units left. */
function map() {
  const part = section("map-section", "All offers to this customer",
    `Colours show the ${plan.action} at each step and number of units left; choose a cell to see its details above.`);
  const host = el("div", { id: "map" });
  const scale = el("div", { id: "scale" });
  const words = el("p", { class: "note", id: "map-words", role: "status" });
  part.append(host, scale, words);
  const stage = el("div", { class: "plot", tabindex: 0, role: "group",
    "aria-label": "Offers by step and units left. Arrow keys move, the values are above.",
    pointerdown: (e) => point(e), keydown: (e) => key(e) });
  host.append(stage);
  const [horizon, budgets] = [plan.steps.length, plan.budgets.length];
  let view = null;

  function draw() {
    const width = Math.max(260, widthOf(stage, 600));
    const height = Math.round(Math.max(220, Math.min(400, width * 0.52)));
    const frame = { left: 34 + 8 * String(plan.budget).length, right: width - 6, top: 6, bottom: height - 42 };
    const w = (frame.right - frame.left) / horizon;
    const h = (frame.bottom - frame.top) / budgets;
    const segment = chosen();
    const used = plan.actions.map((_, a) => segment.offers.includes(a + 1));
    const colour = (action) => action === 0 ? "var(--none)"
      : data.ramp[plan.actions.length === 1 ? 50 : Math.round((action - 1) / (plan.actions.length - 1) * (data.ramp.length - 1))];
    const corner = (i, j) => [frame.left + i * w, frame.bottom - (j + 1) * h];
    const cells = shape("g", { "shape-rendering": "crispEdges" });
    // Equal neighbours in a row are one rectangle, so that large plans stay small.
    for (let j = 0; j < budgets; j++) {
      for (let i = 0; i < horizon;) {
        const action = segment.offers[i * budgets + j];
        let end = i + 1;
        while (end < horizon && segment.offers[end * budgets + j] === action) end++;
        const [x, y] = corner(i, j);
        const rect = shape("rect", { x: x.toFixed(2), y: y.toFixed(2), width: ((end - i) * w + 0.4).toFixed(2), height: (h + 0.4).toFixed(2) });
        rect.style.fill = colour(action);
        cells.append(rect);
        i = end;
      }
    }
    const mark = shape("rect", { class: "mark", width: Math.max(w, 3), height: Math.max(h, 3) });
    stage.replaceChildren(shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${plan.action} by step and units left` },
      cells,
      shape("rect", { class: "edge", x: frame.left, y: frame.top, width: w * horizon, height: h * budgets }),
      ...roundPlaces(plan.steps, width < 420 ? 6 : 12).map(([i, step]) => shape("text",
        { x: corner(i, 0)[0] + w / 2, y: frame.bottom + 17, "text-anchor": "middle" }, String(step))),
      ...roundPlaces(plan.budgets, 8).map(([j, units]) => shape("text",
        { x: frame.left - 6, y: corner(0, j)[1] + h / 2 + 4, "text-anchor": "end" }, String(units))),
      shape("text", { class: "name", x: (frame.left + frame.right) / 2, y: height - 6, "text-anchor": "middle" }, "step"),
      shape("text", { class: "name", "text-anchor": "middle",
        transform: `translate(13 ${(frame.top + frame.bottom) / 2}) rotate(-90)` }, "units left"),
      mark));
    view = { width, height, frame, w, h, corner, mark };
    const entries = plan.actions.map((a, k) => [String(a), colour(k + 1), true]).filter((_, k) => used[k]);
    if (segment.offers.includes(0)) entries.push(["no offer", "var(--none)", true]);
    scale.replaceChildren(legend(...entries));
    place();
  }

  function place() {
    const [x, y] = view.corner(...places());
    view.mark.setAttribute("x", x);
    view.mark.setAttribute("y", y);
    const offer = offerAt(chosen(), now.step, now.budget);
    words.textContent = `Step ${now.step + 1}, ${now.budget} left: ${offer.price === null ? "no offer" : `${plan.action} ${offer.price}`}.`;
  }

  const places = () => [plan.steps.indexOf(now.step + 1), plan.budgets.indexOf(now.budget)];

  function go(i, j) {
    now.step = plan.steps[Math.max(0, Math.min(horizon - 1, i))] - 1;
    now.budget = plan.budgets[Math.max(0, Math.min(budgets - 1, j))];
    byId("step").value = now.step;
    byId("budget").value = now.budget;
    show();
  }

  function point(event) {
    const box = stage.getBoundingClientRect();
    const { frame, width, height, w, h } = view;
    const i = Math.floor(((event.clientX - box.left) * width / box.width - frame.left) / w);
    const j = Math.floor((frame.bottom - (event.clientY - box.top) * height / box.height) / h);
    if (i >= 0 && j >= 0 && i < horizon && j < budgets) go(i, j);
  }

  function key(event) {
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const [i, j] = places();
    go(i + move[0], j + move[1]);
  }

  drawnAtEveryWidth(stage, draw);
  return { draw };
}

let offers = null;
function show() {
  answer();
  if (offers) offers.draw();
}

theme();
byId("subtitle").textContent = `${plan.optimistic ? "What the learner would try next, by upper confidence bounds. " : ""}`
  + `An episode of ${plan.horizon} steps that starts with ${plan.budget} units is ${plan.optimistic ? "optimistically " : ""}expected to earn ${plan.values.map((values, g) => money(values[0].at(-1)) + (plan.groups[g] && ` on days with ${plan.groups[g]}`)).join(", ")}.`;
if (plan.warnings.length) {
  byId("main").append(el("ul", { class: "warnings", "aria-label": "Warnings" }, ...plan.warnings.map((w) => el("li", {}, w))));
}
if (plan.steps.length < plan.horizon || plan.budgets.length < plan.budget) {
  byId("main").append(el("p", { class: "note" }, `The plan is large: this page shows ${plan.steps.length} of ${plan.horizon} steps and ${plan.budgets.length} of ${plan.budget} numbers of units. The CSV file beside it has all of them; \`cbwk-gpu offer\` looks up any customer.`));
}
asking();
offers = map();
show();
