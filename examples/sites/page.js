/** The web page of the example sites in JavaScript. */

export const DEFAULT = {
  positions: ["top-left", "top-middle", "top-right", "bottom-left", "bottom-middle", "bottom-right"],
  items: ["straw hat", "silk scarf", "linen shirt", "canvas bag", "sun glasses", "rain coat"],
};

const SCRIPT = `<script>
document.addEventListener("click", ({ target: { dataset } }) => {
  if (dataset.token) navigator.sendBeacon("/clicked?" + new URLSearchParams(dataset));
});
</script>`;

const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (text) => text.replace(/[&<>"]/g, (character) => ESCAPED[character]);

/** The links of a display. Each has the token and the position that a click reports. */
export const links = ({ items, token }) =>
  items.map(({ position, item }) => `<a href="#" data-token="${token}" data-position="${position}">${escape(item)}</a>`).join(" ");

export const page = (content) => `<!doctype html><title>Shop</title>${content}${SCRIPT}`;
