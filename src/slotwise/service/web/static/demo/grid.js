// The grid of products: shows a display, marks clicks, and shows what was learnt of the positions.
const products = JSON.parse(document.getElementById("products").textContent);
const cells = new Map(
  [...document.querySelectorAll(".cell")].map((cell) => [cell.dataset.slotwisePosition, cell]),
);
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });

/** Show these items, given by position. */
export function show(items) {
  for (const [position, cell] of cells) {
    const item = items[position], image = cell.querySelector("img");
    cell.classList.remove("clicked");
    if (cell.dataset.item === item) continue;
    cell.dataset.item = item;
    image.hidden = !(item in products);
    if (item in products) image.src = products[item].picture;
    cell.querySelector(".name").textContent = item ?? "";
    cell.querySelector(".price").textContent = products[item]?.price ?? "";
  }
}

/** Mark the positions that a visitor clicked. */
export function markClicks(positions) {
  for (const position of positions) {
    const cell = cells.get(position);
    cell.classList.remove("clicked");
    cell.getBoundingClientRect(); // so that the animation starts again
    cell.classList.add("clicked");
  }
}

/** Let a person click, or not. */
export function setClickable(clickable) {
  for (const cell of cells.values()) cell.disabled = !clickable;
}

/** Show the visibility of each position, from the insights of the page. */
export function showVisibilities(kappa) {
  for (const { position, mean, low, high, ready } of kappa) {
    const heat = cells.get(position)?.querySelector(".heat");
    if (!heat) continue;
    heat.style.setProperty("--seen", ready ? mean : 0);
    const [exact, interval] = heat.children;
    exact.textContent = ready ? `seen ${percent.format(mean)}` : "learning …";
    interval.textContent = ready ? `${percent.format(low)} to ${percent.format(high)}` : "";
    interval.hidden = !ready;
  }
}

/** Show or hide the visibilities. */
export function setHeat(shown) {
  for (const cell of cells.values()) cell.querySelector(".heat").hidden = !shown;
}
