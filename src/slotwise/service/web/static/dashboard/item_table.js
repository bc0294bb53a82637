// Search and sort the table of items.
const state = { column: null, ascending: false, words: "" };
const table = (root) => root.querySelector("#item-table");

function headings(root) {
  return [...(table(root)?.querySelectorAll("th[data-sort]") ?? [])];
}

function compare(one, other) {
  const [a, b] = [one.dataset[state.column], other.dataset[state.column]];
  const order = state.column === "name" ? a.localeCompare(b) : Number(a) - Number(b);
  return state.ascending ? order : -order;
}

/** Put buttons into the headings of a table, and sort and filter its rows as the reader wants. */
export function arrangeTable(root) {
  const body = table(root)?.tBodies[0];
  if (!body) return;
  for (const heading of headings(root)) {
    if (!heading.querySelector("button")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
    }
    const isSorted = heading.dataset.sort === state.column;
    if (isSorted) heading.setAttribute("aria-sort", state.ascending ? "ascending" : "descending");
    else heading.removeAttribute("aria-sort");
  }
  const rows = [...body.rows];
  if (state.column) body.append(...rows.sort(compare));
  let found = 0;
  for (const row of rows) {
    row.hidden = !row.dataset.name.toLowerCase().includes(state.words);
    found += !row.hidden;
  }
  const count = root.querySelector("#item-count");
  if (count) count.textContent = state.words ? `${found} found` : "";
}

/** Follow clicks on headings, and what is typed into the search. */
export function startTable() {
  arrangeTable(document);
  document.addEventListener("click", (event) => {
    const heading = event.target.closest("th[data-sort]");
    if (!heading) return;
    const column = heading.dataset.sort;
    state.ascending = state.column === column ? !state.ascending : column === "name";
    state.column = column;
    arrangeTable(document);
  });
  document.addEventListener("input", (event) => {
    if (event.target.id !== "item-search") return;
    state.words = event.target.value.trim().toLowerCase();
    arrangeTable(document);
  });
}
