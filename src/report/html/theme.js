// Light, dark, or the system's theme.

function theme() {
  const button = byId("theme");
  const modes = ["auto", "light", "dark"];
  const set = (mode) => {
    document.documentElement.dataset.theme = mode;
    button.textContent = `Theme: ${mode}`;
    // Storage can be forbidden for local files; the page works without.
    try { localStorage.setItem("cbwk-theme", mode); } catch { /* not stored */ }
  };
  let kept = null;
  try { kept = localStorage.getItem("cbwk-theme"); } catch { /* none stored */ }
  set(modes.includes(kept) ? kept : "auto");
  button.addEventListener("click", () =>
    set(modes[(modes.indexOf(document.documentElement.dataset.theme) + 1) % modes.length]));
}
