// The mode of a page, and the share of visitors without learning.
import { defineDialog } from "./dialogs.js";
import { call, pagePath } from "./http.js";

export const openSettings = defineDialog("settings", {
  fill(form, _, page) {
    form.elements.mode.value = page.mode;
    form.elements.holdout.value = Number((100 * page.holdout).toPrecision(6));
    return { etag: `"${page.version}"` };
  },
  async send(form, { etag }, page) {
    const body = { mode: form.elements.mode.value, holdout: Number(form.elements.holdout.value) / 100 };
    await call("PATCH", pagePath(page.page), { body, etag });
    return { text: "The settings are saved.", subject: page.page };
  },
});
