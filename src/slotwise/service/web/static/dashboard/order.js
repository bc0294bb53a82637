// The default order: drag items, or move them with the keyboard.
import { defineDialog } from "./dialogs.js";
import { call, pagePath } from "./http.js";

const list = () => document.getElementById("order-list");
const say = (text) => (document.getElementById("order-said").textContent = text);
let dragged = null;

function moveButton(label, name, step, line) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button button-small button-quiet";
  button.textContent = label;
  button.setAttribute("aria-label", `Move ${name} ${step < 0 ? "up" : "down"}`);
  button.addEventListener("click", () => {
    move(line, step);
    button.focus();
  });
  return button;
}

function lineOf(name) {
  const line = document.createElement("li");
  line.tabIndex = 0;
  line.draggable = true;
  line.dataset.item = name;
  const text = document.createElement("bdi");
  text.textContent = name;
  const moves = document.createElement("span");
  moves.className = "order-moves";
  moves.append(moveButton("\u2191", name, -1, line), moveButton("\u2193", name, 1, line));
  line.append(text, moves);
  return line;
}

function move(line, step) {
  const other = step < 0 ? line.previousElementSibling : line.nextElementSibling;
  if (!other) return;
  if (step < 0) other.before(line);
  else other.after(line);
  const place = [...list().children].indexOf(line) + 1;
  say(`${line.dataset.item} is number ${place} of ${list().children.length}`);
}

function follow() {
  const element = list();
  if (!element) return;
  element.addEventListener("keydown", (event) => {
    const line = event.target.closest("li");
    if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    move(line, event.key === "ArrowUp" ? -1 : 1);
    line.focus();
  });
  element.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li");
    dragged.classList.add("is-dragged");
    event.dataTransfer.effectAllowed = "move";
  });
  element.addEventListener("dragover", (event) => {
    const over = event.target.closest("li");
    if (!dragged || !over || over === dragged) return;
    event.preventDefault();
    const { top, height } = over.getBoundingClientRect();
    over[event.clientY < top + height / 2 ? "before" : "after"](dragged);
  });
  element.addEventListener("drop", (event) => event.preventDefault());
  element.addEventListener("dragend", () => {
    dragged?.classList.remove("is-dragged");
    dragged = null;
  });
}

export const openOrder = defineDialog("order", {
  fill(_, __, page) {
    const listed = page.defaultOrder.filter((name) => name in page.items);
    const added = page.order.filter((name) => !page.defaultOrder.includes(name));
    const names = [...listed, ...added].filter((name) => page.items[name][0] !== "retired");
    list().replaceChildren(...names.map(lineOf));
    return { etag: `"${page.version}"` };
  },
  async send(_, { etag }, page) {
    const order = [...list().children].map((line) => line.dataset.item);
    await call("PATCH", pagePath(page.page), { body: { default_order: order }, etag });
    return { text: "The default order is saved.", subject: page.page };
  },
});
follow();
