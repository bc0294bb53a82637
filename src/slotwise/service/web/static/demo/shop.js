// The demo shop: live reports of its visitors, and a display of its own for a person who wants to click.
import * as grid from "./grid.js";
import * as panel from "./panel.js";
import { follow } from "../shared/event_stream.js";

const PAGE = "/v1/pages/shop", INSIGHTS_PAUSE = 4000, VISIT_PAUSE = 1000, THANKS_PAUSE = 1400;
const find = (id) => document.getElementById(id);
const root = find("grid"), whose = find("whose"), said = find("said");
const whole = new Intl.NumberFormat();
let shownAt = 0;

function watch({ last }) {
  if (root.dataset.mode !== "watch" || !last || performance.now() - shownAt < VISIT_PAUSE) return;
  shownAt = performance.now();
  grid.show(last.items);
  grid.markClicks(last.clicked);
  const clicked = last.clicked.map((position) => last.items[position]).join(" and ") || "nothing";
  whose.textContent = `Visitor ${whole.format(last.number)} sees this page, and clicks ${clicked}.`;
}

/** Request a display for the person in front of the screen. */
async function visit() {
  const reply = await fetch(`${PAGE}/recommendations`, { method: "POST" }).catch(() => null);
  if (!reply?.ok) {
    whose.textContent = "The service does not answer. Try it again in a moment.";
    return;
  }
  const display = await reply.json();
  if (root.dataset.mode !== "visit") return;
  grid.show(Object.fromEntries(display.items.map(({ position, item }) => [position, item])));
  root.dataset.slotwiseToken = display.token; // tracker.js reports clicks on it
  grid.setClickable(true);
  whose.textContent = "This page is yours: click what you like.";
}

function setMode(mode) {
  root.dataset.mode = mode;
  find("watch").setAttribute("aria-pressed", String(mode === "watch"));
  find("visit").setAttribute("aria-pressed", String(mode === "visit"));
  delete root.dataset.slotwiseToken;
  grid.setClickable(false);
  said.textContent = "";
  shownAt = 0;
  if (mode === "visit") visit();
}

root.addEventListener("click", (event) => {
  const cell = event.target.closest(".cell");
  if (!cell || cell.disabled || root.dataset.mode !== "visit") return;
  const position = cell.dataset.slotwisePosition;
  grid.markClicks([position]);
  grid.setClickable(false);
  said.textContent = `You clicked ${cell.dataset.item} (${position.replace("-", " ")}). slotwise learns from it. Your next page is coming.`;
  setTimeout(async () => {
    if (root.dataset.mode !== "visit") return;
    await visit();
    cell.focus();
  }, THANKS_PAUSE);
});

async function loadVisibilities() {
  if (!document.hidden && find("show-heat").checked) {
    const reply = await fetch(`${PAGE}/insights`).catch(() => null);
    if (reply?.ok) {
      const { kappa } = await reply.json();
      grid.showVisibilities(kappa);
      grid.setHeat(find("show-heat").checked && kappa.length > 0);
    }
  }
  setTimeout(loadVisibilities, INSIGHTS_PAUSE);
}

find("watch").addEventListener("click", () => setMode("watch"));
find("visit").addEventListener("click", () => setMode("visit"));
find("show-heat").addEventListener("change", (event) => grid.setHeat(event.target.checked));
follow("/demo/events", {
  message({ data }) {
    const report = JSON.parse(data);
    panel.show(report);
    watch(report);
    if (!find("visit").disabled) return;
    find("visit").disabled = false; // now the page of the service exists
    loadVisibilities();
  },
  open: () => { find("lost").hidden = true; },
  error: () => { find("lost").hidden = false; },
});
