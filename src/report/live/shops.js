// The list of shops.

theme();
byId("subtitle").textContent = "Waiting for the list.";

const PAUSE = 5000;
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const list = section("shops", "Shops", null, el("div", { id: "table" }));

async function refresh() {
  const said = byId("subtitle");
  try {
    const answer = await fetch("v1/shops", token ? { headers: { Authorization: `Bearer ${token}` } } : {});
    if (!answer.ok) throw new Error(answer.status === 401 ? "a token is needed: open this page as /#token=TOKEN" : `status ${answer.status}`);
    const { shops } = await answer.json();
    const ready = shops.filter((shop) => shop.ready).length;
    said.textContent = `${shops.length} shops, ${ready} ready`;
    const rows = shops.map((shop) => {
      const link = el("a", { href: `v1/${encodeURIComponent(shop.shop)}/${location.hash}` }, shop.shop);
      const cells = shop.error !== undefined ? [shop.error, "–", "–", "–"]
        : [shop.ready ? (shop.open ? "open" : "closed") : "not ready", shop.episodes, shop.decisions, shop.units ?? "–"];
      return el("tr", {}, el("td", {}, link), ...cells.map((cell) => el("td", {}, String(cell))));
    });
    const names = ["Shop", "State", "Episodes", "Decisions", "Units left"];
    byId("table").replaceChildren(el("table", {}, el("tr", {}, ...names.map((name) => el("th", {}, name))), ...rows));
    document.body.dataset.refreshed = Number(document.body.dataset.refreshed ?? 0) + 1;
  } catch (error) {
    said.textContent = `No list: ${error.message}. Trying again.`;
  }
  setTimeout(refresh, PAUSE);
}

refresh();
