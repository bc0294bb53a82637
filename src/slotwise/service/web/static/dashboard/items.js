// Add an item, and change its state, value and category.
import { defineDialog, showTexts } from "./dialogs.js";
import { call, itemPath, Refused } from "./http.js";

const SAID = { active: "is active", paused: "is paused", retired: "is retired" };

export const openItem = defineDialog("item", {
  async fill(form, { item }, page) {
    const { json, etag } = await call("GET", itemPath(page.page, item));
    form.elements.subject.value = item;
    form.elements.state.value = json.state;
    form.elements.value.value = json.value;
    form.elements.category.value = json.category ?? "";
    showTexts(form, { item });
    return { etag, item, before: json };
  },
  async send(form, { etag, item, before }, page) {
    const wanted = {
      state: form.elements.state.value,
      value: Number(form.elements.value.value),
      category: form.elements.category.value.trim() || null,
    };
    const changed = Object.entries(wanted).filter(([field, value]) => value !== before[field]);
    await call("PATCH", itemPath(page.page, item), { body: Object.fromEntries(changed), etag });
    const text = wanted.state === before.state ? `${item} is changed.` : `${item} ${SAID[wanted.state]}.`;
    return { text, subject: item };
  },
});

export const openAddItem = defineDialog("add-item", {
  fill: (form) => form.reset(),
  async send(form, _, page) {
    const item = form.elements.subject.value.trim();
    const body = { value: Number(form.elements.value.value), category: form.elements.category.value.trim() || null };
    if (item in page.items) throw new Refused(409, { detail: "the page has an item with this name already" });
    await call("PUT", itemPath(page.page, item), { body });
    return { text: `${item} is added.`, subject: item };
  },
});
