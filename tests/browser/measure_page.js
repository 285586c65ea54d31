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
// No table shows names without a number until it is scrolled, and no name is broken within a word.
for (const scroll of document.querySelectorAll(".scroll")) {
  const hidden = [...scroll.querySelectorAll("tr")].filter((row) => {
    const first = row.querySelector("td");
    return first && first.getBoundingClientRect().right > scroll.getBoundingClientRect().right + 1;
  });
  found.clipped.push(...hidden.map((row) => `no number beside ${row.textContent}`));
}
found.words = 0;
for (const node of document.querySelectorAll("tbody th, .chip")) {
  const texts = [...node.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE);
  for (const text of texts) {
    for (const word of text.data.matchAll(/[\p{L}\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      found.words += 1;
      if (range.getClientRects().length > 1) found.clipped.push(`${word[0]} is broken`);
    }
  }
}
// A text that does stick out is found.
const [first] = texts;
first.setAttribute("x", -500);
found.control_found = clipped().includes(first);
