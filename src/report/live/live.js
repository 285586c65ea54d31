// The live page: requests numbers, draws them, and repeats.

theme();
byId("subtitle").textContent = "Waiting for numbers.";

const PAUSE = 2000;
// With a token the page is opened as /#token=...; the browser sends it only in the header.
// With several shops this is the page /v1/SHOP/.
const base = location.pathname === "/" ? "v1/" : "";
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const today = section("today", "Today", null, el("dl", { class: "tiles", id: "tiles" }), el("div", { id: "budget" }));
const days = section("days", "Days", null, el("div", { class: "pair" }, el("div", { id: "reward" }), el("div", { id: "width" })));
const events = section("events", "What happened today", null, el("div", { id: "told" }));
const ask = section("ask", "What would you offer now?", null, el("div", { id: "quote" }));
const plan = section("plan", "What the plan offers", "Mean offer over some of the customers seen so far, by step and units left.", el("div", { id: "offers" }));
const list = section("list", "Last days", null, el("div", { id: "table" }));

const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

const line = ({ name, points }, place, i) => {
  const known = points.filter(([, y]) => y !== null);
  // A line of one point is invisible.
  if (known.length < 2) return known.flatMap(([x, y]) => dot(place, x, y, null, null, colourOf(i), `${name}: ${y}`));
  const at = known.map(([x, y]) => `${place.x(x).toFixed(1)} ${place.y(y).toFixed(1)}`);
  const path = shape("path", { class: "line", fill: "none", d: `M${at.join("L")}`, "stroke-dasharray": dashOf(i) });
  path.style.stroke = colourOf(i);
  return [path];
};

const most = (values, least) => Math.max(least, ...values.filter((v) => v !== null && Number.isFinite(v)));

/** Draws lines with a legend into an element, replacing its content. */
function lines(id, label, x, y, series) {
  const host = byId(id);
  host.replaceChildren();
  picture(host, { label, x, y, marks: (place) => series.flatMap((s, i) => line(s, place, i)) });
  host.append(legend(...series.map((s, i) => [s.name, colourOf(i), false])));
}

function drawToday({ state, path, left, steps, episodes }) {
  const open = state.open;
  const tiles = open === null ? [["Episode", "none open"], ["Episodes", state.episodes], ["Outcomes learnt from", state.observations ?? "–"]]
    : [["Episode", open.episode], ["Units left", open.budget ?? "–"], ["of them held", open.held ?? "–"], ["Reward", number(open.reward)],
      ["expected", number(episodes.at(-1).expected ?? NaN)], ["Offers", open.offers], ["Outcomes", open.outcomes], ["Accepted", open.accepted], ["Brought later", open.adjusted], ["Given back", open.cancelled], ["Sold without a unit", open.oversold]];
  byId("tiles").replaceChildren(...tiles.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));
  if (path === null) {
    const why = open === null ? "The budget is shown once an episode has begun." : "The plan is being computed for this page.";
    byId("budget").replaceChildren(el("p", { class: "note" }, why));
    return;
  }
  const real = [[0, path[0][1]], ...left.map(([step, units]) => [step - 1, units])];
  if (open !== null && left.length && open.budget !== null) real.push([left.at(-1)[0], open.budget]);
  lines("budget", "Units left by step", { name: "step", low: 0, high: steps ?? path.at(-1)[0], whole: true },
    { name: "units left", low: 0, high: most([...path, ...real].map(([, units]) => units), 1), whole: true },
    [{ name: "left", points: real }, { name: "as planned, with an arrival at every step", points: path }]);
}

function drawEvents({ told }) {
  const at = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  byId("told").replaceChildren(told.length === 0 ? el("p", { class: "note" }, "Offers and their outcomes only.")
    : table("Events", ["Time", "Event"], told.toReversed().map(([ms, words]) => ({ cells: [at(ms), words] }))));
}

/** A form for a customer; what the learner would offer is asked for and nothing is written. */
function drawQuote({ columns, steps }) {
  const field = (name, input) => el("label", {}, `${name} `, input);
  const step = el("input", { type: "number", min: 1, max: steps ?? 1, value: 1, "aria-label": "step" });
  const inputs = columns.map(({ name, levels, low, high }) => [name, levels
    ? el("select", { "aria-label": name }, ...levels.map((level) => el("option", { value: level }, level || "not known")))
    : el("input", { type: "number", step: "any", placeholder: `${number(low)} to ${number(high)}`, "aria-label": name }), !levels]);
  const said = el("output", {});
  const button = el("button", { type: "button" }, "Show the offer");
  button.addEventListener("click", async () => {
    const known = inputs.filter(([, input]) => input.value !== "");
    const context = Object.fromEntries(known.map(([name, input, isNumber]) => [name, isNumber ? Number(input.value) : input.value]));
    const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    try {
      const answer = await fetch(`${base}quote`, { method: "POST", headers, body: JSON.stringify({ step: Number(step.value), context }) });
      const quote = await answer.json();
      said.textContent = !quote.ok ? quote.error.message : quote.offer === null ? "No offer."
        : `${number(quote.offer)}; accepted with ${number(100 * quote.lower)} to ${number(100 * quote.upper)}%. ${quote.notes.join("; ")}`;
    } catch (error) {
      said.textContent = `No answer: ${error.message}`;
    }
  });
  byId("quote").replaceChildren(field("step", step), ...inputs.map(([name, input]) => field(name, input)), button, said);
}

function drawDays({ episodes, first }) {
  const x = { name: "episode", low: first, high: Math.max(first + 1, first + episodes.length - 1), whole: true };
  const ended = episodes.map((e, i) => [first + i, e]).filter(([, e]) => e.ended);
  const expected = episodes.map((e, i) => [first + i, e.expected]);
  const mean = [];
  ended.reduce((sum, [at, e], i) => { mean.push([at, (sum + e.reward) / (i + 1)]); return sum + e.reward; }, 0);
  lines("reward", "Reward by episode", x, { name: "reward", low: 0, high: most(episodes.flatMap((e) => [e.reward, e.expected]), 1) },
    [{ name: "earned", points: ended.map(([at, e]) => [at, e.reward]) }, { name: "mean so far", points: mean },
      { name: "expected under the plan", points: expected }]);
  lines("width", "Width of the bounds by episode", x, { name: "mean width of bounds", low: 0, high: 1 },
    [{ name: "of the offers made", points: episodes.map((e, i) => [first + i, e.width]) }]);
  byId("table").replaceChildren(table("Last episodes", ["Episode", "Budget", "Spent", "Offers", "Outcomes", "Accepted", "Reward"],
    episodes.slice(-10).reverse().map((e) => ({
      cells: [e.name, e.budget, e.ended ? e.spent : "–", e.offers, e.outcomes, e.accepted, e.ended ? number(e.reward) : "open"].map(String),
    }))));
}

function drawOffers({ offers }) {
  const host = byId("offers");
  host.replaceChildren();
  if (offers === null || offers.steps.length === 0) return;
  const values = offers.mean.flat().filter((v) => v !== null);
  if (values.length === 0) {
    host.append(el("p", { class: "note" }, "No plan has been made yet, or no customer has been seen."));
    return;
  }
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const colour = (v) => data.ramp[Math.round((high > low ? (v - low) / (high - low) : 0.5) * (data.ramp.length - 1))];
  const edges = (list) => list.map((v, i) => [i ? (v + list[i - 1]) / 2 : v - 0.5, i + 1 < list.length ? (v + list[i + 1]) / 2 : v + 0.5]);
  const [xs, ys] = [edges(offers.steps), edges(offers.budgets)];
  picture(host, {
    label: "Mean offer by step and units left",
    x: { name: "step", low: xs[0][0], high: xs.at(-1)[1], whole: true },
    y: { name: "units left", low: ys[0][0], high: ys.at(-1)[1], whole: true, tight: true },
    marks: (place) => offers.mean.flatMap((row, b) => row.map((v, h) => {
      if (v === null) return null;
      const [x0, x1] = xs[h].map(place.x);
      const [y1, y0] = ys[b].map(place.y);
      const cell = shape("rect", { x: x0, y: y0, width: x1 - x0 + 0.5, height: y1 - y0 + 0.5, "shape-rendering": "crispEdges" },
        shape("title", {}, `step ${offers.steps[h]}, ${offers.budgets[b]} units: ${number(v)}`));
      cell.style.fill = colour(v);
      return cell;
    }).filter((cell) => cell !== null)),
  });
  host.append(legend([`${number(low)}`, colour(low), true], [`${number((low + high) / 2)}`, colour((low + high) / 2), true], [`${number(high)}`, colour(high), true]));
}

let drawn = "";

async function refresh() {
  const said = byId("subtitle");
  try {
    const answer = await fetch(`${base}view`, token ? { headers: { Authorization: `Bearer ${token}` } } : {});
    if (!answer.ok) throw new Error(answer.status === 401 ? "a token is needed: open this page as /#token=TOKEN" : `status ${answer.status}`);
    const text = await answer.text();
    const view = JSON.parse(text);
    said.textContent = `${counted(view.state.episodes, "episode")}, ${counted(view.state.decisions, "decision")}; plan ${view.state.plan}${view.state.planning ? ", the next is being made" : ""}`;
    if (text !== drawn) {
      drawn = text;
      drawToday(view);
      drawEvents(view);
      // Once, so that what is being typed stays.
      if (!byId("quote").hasChildNodes() && view.steps !== null) drawQuote(view);
      drawDays(view);
      drawOffers(view);
    }
    document.body.dataset.refreshed = Number(document.body.dataset.refreshed ?? 0) + 1;
  } catch (error) {
    said.textContent = `No numbers: ${error.message}. Trying again.`;
  }
  setTimeout(refresh, PAUSE);
}

refresh();
