// The mode of a page, and the share of visitors without learning.
import { defineDialog } from "./dialogs.js";
import { call, pagePath } from "./http.js";

export const openSettings = defineDialog("settings", {
  fill(form, _, page) {
    form.elements.mode.value = page.mode;
    form.elements.holdout.value = Number((100 * page.holdout).toPrecision(6));
    return { etag: `"${page.version}"` };
  },
  async send(_, { etag }, page, changed) {
    const body = {};
    if (changed.has("mode")) body.mode = changed.get("mode");
    if (changed.has("holdout")) body.holdout = Number(changed.get("holdout")) / 100;
    await call("PATCH", pagePath(page.page), { body, etag });
    return { text: "The settings are saved.", subject: page.page };
  },
});
