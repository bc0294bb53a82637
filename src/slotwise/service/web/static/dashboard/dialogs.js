// Dialogs of actions: open them, send what they say, and handle what goes wrong.
import { explainConflict } from "./conflict.js";
import { Refused } from "./http.js";
import { refresh } from "./live.js";
import { pageData } from "./page_data.js";
import { toast } from "./toast.js";
import { findChange, undoChange } from "./undo.js";

/** Undo a change, and say so. */
export async function undoAndSay(page, change) {
  let text = "Undone.";
  try {
    await undoChange(page, change);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    text = `Not undone: ${error.message}.`;
  }
  await refresh(); // first, so that who reads the message sees what holds now
  toast(text);
}

async function sayDone(text, page, newest, subject) {
  const mine = await findChange(page, ({ number, subject: of }) => number > newest && of === subject);
  await refresh();
  toast(text, mine ? () => undoAndSay(page, mine) : null);
}

function showError(dialog, text) {
  const notice = dialog.querySelector('[role="alert"]');
  notice.textContent = text;
  notice.hidden = !text;
}

/**
 * A dialog. `fill` prepares the form and returns what `send` needs. `send` makes the call and returns what to say, and the
 * subject of the change in the history. It gets the fields that the person changed, so that it leaves all others alone.
 */
export function defineDialog(name, { fill, send }) {
  const dialog = document.getElementById(`dialog-${name}`);
  if (!dialog) return () => {};
  const form = dialog.querySelector("form");
  let [context, opened, wanted, initial] = [null, null, {}, new Map()];
  const changed = () => new Map([...new FormData(form)].filter(([field, value]) => initial.get(field) !== value));

  async function open(given) {
    wanted = given;
    opened = pageData();
    showError(dialog, "");
    context = await fill(form, given, opened);
    initial = new Map(new FormData(form));
    dialog.showModal();
  }

  async function submit() {
    showError(dialog, "");
    const button = form.querySelector(".button-primary");
    button.disabled = true;
    try {
      const { text, subject } = await send(form, context, opened, changed());
      dialog.close();
      await sayDone(text, opened.page, opened.newest, subject);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status !== 412) return showError(dialog, `Not saved: ${error.message}.`);
      const entered = changed();
      dialog.close();
      if (await explainConflict(opened.newest)) {
        await open(wanted);
        for (const [field, value] of entered) form.elements[field].value = value;
      }
    } finally {
      button.disabled = false;
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  form.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  return open;
}

/** Write texts into the elements that show them, such as the name of an item in a title. */
export function showTexts(form, texts) {
  for (const element of form.querySelectorAll("[data-show]")) element.textContent = texts[element.dataset.show];
}
