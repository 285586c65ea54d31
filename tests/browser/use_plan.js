// Asks the page of a plan as a shopkeeper would, and notes its answers.
const one = (selector) => document.querySelector(selector);
const answer = () => [...document.querySelectorAll("#answer dd")].map((dd) => dd.textContent);
const choose = (id, value) => {
  const select = document.getElementById(id);
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
};

found.selects = document.querySelectorAll(".asked select").length;
found.first = answer();
choose("step", 23);
choose("budget", 1);
found.last_step = answer();
found.words = one("#map-words").textContent;
choose("column-0", 0);
choose("column-1", 0);
found.poorest = answer();

const map = one("#map .plot");
map.focus();
map.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true, cancelable: true }));
map.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true, cancelable: true }));
found.keys = [one("#step").value, one("#budget").value, one("#map-words").textContent];

const box = map.getBoundingClientRect();
map.dispatchEvent(new PointerEvent("pointerdown", { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));
found.pointer = [Number(one("#step").value), Number(one("#budget").value)];

const background = () => getComputedStyle(document.body).backgroundColor;
one("#theme").click();
const light = background();
one("#theme").click();
found.themes = light === "rgb(255, 255, 255)" && background() !== light;
