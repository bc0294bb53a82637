// The chart: clicks per 100 visits on what slotwise showed, in random order and on the best display.
const WIDTH = 480, HEIGHT = 210, LEFT = 34, RIGHT = 74, TOP = 10, BOTTOM = 26;
const LINES = { best: "best order", clicks: "slotwise", at_random: "at random" };
const CLASSES = { best: "best", clicks: "learnt", at_random: "random" };
const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

function element(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

/** The rates between points, averaged over about a thirtieth of all visits. */
function ratesOf(points) {
  const width = Math.max(1, Math.round(points.length / 30)), rows = [];
  for (let k = width; k < points.length; k++) {
    const before = points[k - width], here = points[k], visits = here.visits - before.visits;
    if (visits <= 0) continue;
    const row = { visits: (before.visits + here.visits) / 2 };
    for (const name in LINES) row[name] = (100 * (here[name] - before[name])) / visits;
    rows.push(row);
  }
  return rows;
}

/** Draw the chart, and return what slotwise gets now as a share of the clicks of the best display. */
export function draw(svg, { points, totals, changes }) {
  const rows = ratesOf([...points.filter((point) => point.visits < totals.visits), totals]);
  svg.replaceChildren();
  if (rows.length < 2) {
    svg.append(element("text", { x: LEFT, y: HEIGHT / 2 }, "The lines begin after the first visits."));
    return null;
  }
  const most = Math.max(...rows.flatMap((row) => Object.keys(LINES).map((name) => row[name])));
  const step = most > 120 ? 50 : 25, top = Math.ceil((1.04 * most) / step) * step;
  const x = (visits) => LEFT + ((WIDTH - LEFT - RIGHT) * visits) / totals.visits;
  const y = (rate) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * rate) / top;
  for (let level = 0; level <= top; level += step) {
    svg.append(element("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(level), y2: y(level) }));
    svg.append(element("text", { x: LEFT - 6, y: y(level) + 4, "text-anchor": "end" }, number.format(level)));
  }
  for (const visits of changes) {
    svg.append(element("line", { class: "change", x1: x(visits), x2: x(visits), y1: TOP, y2: HEIGHT - BOTTOM }));
  }
  svg.append(element("text", { x: LEFT, y: HEIGHT - 6 }, "first visit"));
  const last = `${short.format(totals.visits)} visits`;
  svg.append(element("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, last));
  const ends = {};
  for (const name in LINES) {
    const path = rows.map((row) => `${x(row.visits).toFixed(1)},${y(row[name]).toFixed(1)}`).join("L");
    svg.append(element("path", { class: `line ${CLASSES[name]}`, d: `M${path}` }));
    ends[name] = y(rows.at(-1)[name]) + 4;
  }
  ends.best = Math.min(ends.best, ends.clicks - 14); // labels do not overlap
  ends.at_random = Math.max(ends.at_random, ends.clicks + 14);
  for (const name in LINES) {
    const place = { class: `label ${CLASSES[name]}`, x: WIDTH - RIGHT + 6, y: ends[name] };
    svg.append(element("text", place, LINES[name]));
  }
  return rows.at(-1).clicks / rows.at(-1).best;
}
