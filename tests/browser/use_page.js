// Uses the page as a reader would, with pointer and keyboard, and notes what happens.
const all = (selector) => [...document.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);
const press = (node, key) => node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const lines = () => all("#regret-chart .line").length;
const labels = () => all("#regret-chart .plot text").map((t) => t.textContent).join(" ");

found.final = all("#final tbody tr[data-series]").map((row) =>
  [row.closest("tbody").querySelector(".group").textContent, ...[...row.children].map((cell) => cell.textContent)]);
found.printed = all("#offers-print > h3").map((head) => ({
  run: head.textContent,
  maps: [...head.nextElementSibling.querySelectorAll("figcaption")].map((name) => name.textContent),
  scale: head.nextElementSibling.nextElementSibling.classList.contains("scale"),
}));

const [count, chip] = [lines(), one(".chip")];
const linear = labels();
chip.click();
found.hides_a_policy = lines() === count - 1 && chip.getAttribute("aria-pressed") === "false"
  && all("#final tr.off").length === 1 && all("#budget-chart .line").length === 5
  && all(".chip[aria-pressed=false]").length === 3;
chip.click();
found.shows_it_again = lines() === count && count === 6 && labels() === linear && all("#final tr.off").length === 0;

const [toLinear, toLog] = all("#regret-bar .choice:last-child button");
toLog.click();
found.log_axis = labels() !== linear && toLog.getAttribute("aria-pressed") === "true"
  && toLinear.getAttribute("aria-pressed") === "false";
toLinear.click();
found.linear_again = labels() === linear;

const background = () => getComputedStyle(document.body).backgroundColor;
const theme = one("#theme");
theme.click();
const light = background();
found.light_theme = light === "rgb(255, 255, 255)" && theme.textContent === "Theme: light";
theme.click();
found.dark_theme = background() !== light && theme.textContent === "Theme: dark";

const regret = one("#regret-chart .plot");
const tip = one("#regret-chart .tip");
regret.focus();
press(regret, "End");
found.end_of_regret = one("#regret-chart [role=status]").textContent;
const visible = !tip.hidden;
press(regret, "Escape");
found.escape_hides_values = visible && tip.hidden;
const box = regret.getBoundingClientRect();
regret.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 50 }));
found.pointer_reads_values = !tip.hidden && /^episode (1[5-9]|2[0-5])/.test(tip.textContent)
  && tip.querySelectorAll(".row").length === 4;

const budget = all("#budget-chart .plot").at(-1);
budget.focus();
press(budget, "Home");
press(budget, "ArrowRight");
found.second_step = all("#budget-chart [role=status]").at(-1).textContent;
const tops = (id) => all(`#${id} .plot`).map((plot) => Math.max(...[...plot.querySelectorAll("text")].map((t) => Number(t.textContent) || 0)));
found.largest_ticks = { budget: tops("budget-chart"), regret: tops("regret-chart") };

const heat = one("#offers-panels .plot");
heat.focus();
press(heat, "Home");
press(heat, "ArrowRight");
press(heat, "ArrowDown");
const readout = one("#offers-readout");
found.heat_cell = readout.textContent;
one("#offers-bar [data-value=share]").click();
press(one("#offers-panels .plot"), "Home");
found.share_of_offers = readout.textContent.includes("%");

const drawnWidths = () => all("main .plot > svg").map((svg) => svg.viewBox.baseVal.width);
const onScreen = drawnWidths();
dispatchEvent(new Event("beforeprint"));
const onPaper = new Set(drawnWidths());
dispatchEvent(new Event("afterprint"));
found.drawn_for_paper = [...onPaper].sort().join() === "340,680" && drawnWidths().join() === onScreen.join()
  && !onScreen.includes(680);

all("details").forEach((d) => { d.open = true; });
found.all_controls_take_focus = all("button, select, summary, [tabindex]").every((node) => {
  node.focus();
  return document.activeElement === node;
});
