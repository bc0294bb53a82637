// Everything that a click can do.
import { undoAndSay } from "./dialogs.js";
import { openAddItem, openItem } from "./items.js";
import { openOrder } from "./order.js";
import { pageData } from "./page_data.js";
import { openPin, openUnpin } from "./pins.js";
import { openSettings } from "./settings.js";
import { findChange } from "./undo.js";

const DIALOGS = {
  pin: openPin, unpin: openUnpin, item: openItem, "add-item": openAddItem, order: openOrder, settings: openSettings,
};

async function undo(number) {
  const { page } = pageData();
  const change = await findChange(page, (candidate) => candidate.number === number);
  if (change) await undoAndSay(page, change);
}

/** Open dialogs and undo changes when their buttons are clicked. */
export function startActions() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-dialog], [data-undo]");
    if (!button) return;
    if (button.dataset.undo) undo(Number(button.dataset.undo));
    else DIALOGS[button.dataset.dialog](button.dataset);
  });
}
