// Pictures are drawn at the width of their element, and for print at that of paper: scaling would change the size of text.

const PAPER = 680;
const drawings = new Map();
let printing = false;

/** The width to draw at. */
const widthOf = (place, otherwise, columns = 1) => printing ? PAPER / columns : place.clientWidth || otherwise;

const widths = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const drawing = drawings.get(target);
    const width = Math.round(contentRect.width);
    if (!drawing || width === drawing.width) continue;
    drawing.width = width;
    // In a separate frame, because drawing may change widths too.
    requestAnimationFrame(drawing.draw);
  }
});

/** Draws now, again whenever the width of the element changes, and for print. */
function drawnAtEveryWidth(place, draw) {
  for (const gone of [...drawings.keys()].filter((other) => !other.isConnected)) {
    widths.unobserve(gone);
    drawings.delete(gone);
  }
  drawings.set(place, { draw, width: Math.round(place.clientWidth) });
  widths.observe(place);
  draw();
}

for (const [event, now] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => {
    printing = now;
    drawings.forEach(({ draw }) => draw());
  });
}
