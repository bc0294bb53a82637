// Short messages at the bottom of the page, with a way to undo what was done.
const SECONDS = 20;

/** Show a message. With `undo`, it has a button that calls it. */
export function toast(text, undo) {
  const box = document.getElementById("toasts");
  const element = document.createElement("div");
  element.className = "toast";
  const message = document.createElement("span");
  message.textContent = text;
  element.append(message);
  const add = (label, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.addEventListener("click", () => {
      element.remove();
      act?.();
    });
    element.append(button);
  };
  if (undo) add("Undo", undo);
  add("Close");
  box.replaceChildren(element);
  setTimeout(() => element.contains(document.activeElement) || element.remove(), 1000 * SECONDS);
}
