// Somebody else changed the page meanwhile: say what changed, and offer to try again.
import { refresh } from "./live.js";

/** Show the changes after `newest`. Resolves to whether the person wants to try again. */
export async function explainConflict(newest) {
  await refresh();
  const dialog = document.getElementById("dialog-conflict");
  const changes = [...document.querySelectorAll("#changes li")].filter(
    (line) => Number(line.id.replace("change-", "")) > newest,
  );
  const lines = changes.map((line) => {
    const copy = line.cloneNode(true);
    copy.removeAttribute("id");
    copy.querySelector("button")?.remove();
    return copy;
  });
  document.getElementById("conflict-changes").replaceChildren(...lines);
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "again";
}
