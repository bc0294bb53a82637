// Change a tree of elements into another one with as few changes as possible, so that focus and scroll positions stay.
const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.dataset.key || node.id : "");

function copyAttributes(from, to) {
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name)) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
}

function matches(from, to) {
  return from.nodeType === to.nodeType && from.nodeName === to.nodeName && keyOf(from) === keyOf(to);
}

/** Change the document, and put the focus back: an element that moves loses it. If it is gone, what was around it gets it. */
export function keepingFocus(change) {
  const around = [];
  for (let element = document.activeElement; element; element = element.parentElement) around.push(element);
  change();
  if (document.activeElement === around[0]) return;
  const next = around.find((element) => element.isConnected && element.tabIndex >= 0);
  next?.focus({ preventScroll: true });
}

/** Change the children and attributes of `from` into those of `to`, an element of the same kind. */
export function morph(from, to) {
  if (from.isEqualNode(to)) return;
  copyAttributes(from, to);
  const keyed = new Map();
  for (const child of from.children) {
    const key = keyOf(child);
    if (key) keyed.set(key, child);
  }
  let current = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const key = keyOf(wanted);
    const known = key ? keyed.get(key) : null;
    if (known && known !== current && known.nodeName === wanted.nodeName) {
      from.insertBefore(known, current);
      current = known;
    }
    if (current && matches(current, wanted)) {
      if (current.nodeType === Node.ELEMENT_NODE) morph(current, wanted);
      else if (current.nodeValue !== wanted.nodeValue) current.nodeValue = wanted.nodeValue;
      current = current.nextSibling;
    } else {
      from.insertBefore(document.importNode(wanted, true), current);
    }
  }
  while (current) {
    const next = current.nextSibling;
    current.remove();
    current = next;
  }
}
