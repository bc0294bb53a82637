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

/** The first items are shown in the order of the server, and without a search. */
function forget() {
  Object.assign(state, { column: null, words: "" });
  document.getElementById("item-search").value = "";
}

/** Follow clicks on headings, and what is typed into the search. `visit` shows this page at another address. */
export function startTable(visit) {
  // The table lists the first items only, until the reader searches or sorts. The new address keeps all of them.
  const arrangeAll = () => {
    const rest = document.querySelector("[data-items=all]");
    if (rest) visit(rest.href);
    arrangeTable(document);
  };
  arrangeTable(document);
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-items]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      if (link.dataset.items === "first") forget();
      const top = scrollY;
      await visit(link.href);
      scrollTo({ top, behavior: "instant" });
      return;
    }
    const heading = event.target.closest("th[data-sort]");
    if (!heading) return;
    const column = heading.dataset.sort;
    state.ascending = state.column === column ? !state.ascending : column === "name";
    state.column = column;
    arrangeAll();
  });
  document.addEventListener("input", (event) => {
    if (event.target.id !== "item-search") return;
    state.words = event.target.value.trim().toLowerCase();
    arrangeAll();
  });
}
