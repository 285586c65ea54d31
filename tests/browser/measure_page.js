// Looks for texts that stick out of their plot, and for anything that sticks out of the page.
found.width = innerWidth;
const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
const texts = [...document.querySelectorAll("svg text")];
const clipped = () => texts.filter((t) => !inside(t.getBoundingClientRect(), t.ownerSVGElement.getBoundingClientRect()));
found.texts = texts.length;
document.querySelectorAll("details").forEach((d) => { d.open = true; });
const wide = [...document.querySelectorAll("body *")].filter((node) =>
  !node.closest(".scroll, .skip") && node.getBoundingClientRect().right > innerWidth + 1);
found.clipped = clipped().map((t) => t.textContent).concat(wide.map((node) => node.outerHTML.slice(0, 80)));
if (document.documentElement.scrollWidth > innerWidth) found.clipped.push("the page scrolls sideways");
// A text that does stick out is found.
const [first] = texts;
first.setAttribute("x", -500);
found.control_found = clipped().includes(first);
