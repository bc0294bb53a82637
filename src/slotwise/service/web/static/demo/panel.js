// The panel: clicks so far as bars and as a chart, and the controls.
import { draw } from "./chart.js";

const SPEEDS = [0, 5, 20, 50, 100, 200, 500, 1000]; // visitors per second
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });
const find = (id) => document.getElementById(id);
const speed = find("speed");

/** Show a report. */
export function show(report) {
  const { totals } = report, most = Math.max(totals.best, totals.clicks, 1);
  for (const [id, value] of Object.entries({ clicks: totals.clicks, best: totals.best, random: totals.at_random })) {
    find(id).textContent = whole.format(value);
    find(id).previousElementSibling.style.setProperty("--share", value / most);
  }
  find("visits").textContent = `${whole.format(totals.visits)} visits`;
  const share = draw(find("chart"), report);
  find("now").hidden = share === null;
  if (share !== null) find("now").textContent = `now ${percent.format(share)} of the best order`;
  if (document.activeElement !== speed || find("speed-text").textContent === "…") showSpeed(report.rate);
}

function showSpeed(rate) {
  if (rate !== null) speed.value = SPEEDS.findLastIndex((known) => known <= rate);
  const text = rate === null ? "as fast as possible" : rate === 0 ? "paused" : `${whole.format(rate)} visitors per second`;
  find("speed-text").textContent = text;
  speed.setAttribute("aria-valuetext", text);
}

async function change(controls) {
  const body = JSON.stringify(controls), headers = { "content-type": "application/json" };
  await fetch("/demo/controls", { method: "POST", body, headers }).catch(() => {});
}

speed.addEventListener("input", () => {
  const rate = SPEEDS[speed.value];
  showSpeed(rate);
  change({ rate });
});

find("taste").addEventListener("click", () => {
  change({ change_taste: true });
  find("said").textContent = "Visitors now like other products. The dashed line in the chart marks this moment.";
});
