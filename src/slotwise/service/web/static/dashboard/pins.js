// Pin an item to a position, always or for a time, and unpin it.
import { defineDialog, showTexts } from "./dialogs.js";
import { call, pinPath } from "./http.js";

const DAY = 86_400_000;
const seconds = (date) => Math.round(date.getTime() / 1000);

/** The coming Saturday and Sunday, or what is left of them: from 0:00 to the 0:00 after. */
export function weekend(now) {
  const start = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const ahead = (6 - start.getDay() + 7) % 7;
  if (start.getDay() !== 0) start.setDate(start.getDate() + ahead);
  const end = new Date(start);
  end.setDate(end.getDate() + (start.getDay() === 0 ? 1 : 2));
  return [start, end];
}

function times(form) {
  const choice = form.elements.time.value;
  if (choice === "weekend") {
    const [start, end] = weekend(new Date());
    return { from: seconds(start), until: seconds(end) };
  }
  const found = {};
  if (choice === "range") {
    for (const name of ["from", "until"]) {
      if (form.elements[name].value) found[name] = seconds(new Date(form.elements[name].value));
    }
  }
  return found;
}

export const openPin = defineDialog("pin", {
  fill(form, { position, item }, page) {
    form.reset();
    form.elements.subject.value = item ?? "";
    if (position) form.elements.position.value = position;
    const [start, end] = weekend(new Date());
    const day = new Intl.DateTimeFormat(navigator.languages, { weekday: "long", day: "numeric", month: "long" });
    document.getElementById("pin-weekend").textContent = day.formatRange(start, new Date(end - DAY / 2));
    form.querySelector(".range-fields").hidden = true;
    return { etag: `"${page.version}"` };
  },
  async send(form, { etag }, page) {
    const [item, position] = [form.elements.subject.value.trim(), form.elements.position.value];
    await call("PUT", pinPath(page.page, page.layout, position), { body: { item, ...times(form) }, etag });
    const said = { always: "is pinned to", weekend: "is pinned for the weekend to", range: "is pinned for a time to" };
    return { text: `${item} ${said[form.elements.time.value]} ${position}.`, subject: page.page };
  },
});

export const openUnpin = defineDialog("unpin", {
  fill(form, { position, item }, page) {
    form.elements.position.value = position;
    showTexts(form, { item, position });
    return { etag: `"${page.version}"`, position, item };
  },
  async send(_, { etag, position, item }, page) {
    await call("DELETE", pinPath(page.page, page.layout, position), { etag });
    return { text: `${item} is not pinned to ${position} any more.`, subject: page.page };
  },
});

document.addEventListener("change", (event) => {
  if (event.target.name !== "time") return;
  const form = event.target.form;
  form.querySelector(".range-fields").hidden = form.elements.time.value !== "range";
});
