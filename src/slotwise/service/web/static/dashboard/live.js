// Keep the page up to date: the server says that something changed, and the HTML is loaded again and merged.
import { follow } from "../shared/event_stream.js";
import { morph, keepingFocus } from "../shared/morph.js";
import { localize } from "../shared/numbers.js";
import { parsePage } from "../shared/trusted.js";
import { arrangeTable } from "./item_table.js";
import { content } from "./page_data.js";

const TEXTS = { live: "Live", connecting: "Connecting", lost: "Connection lost, trying again", down: "Not learning: the store is down" };
let loading = null;
let following = null;

function show(state) {
  const element = document.getElementById("live");
  element.hidden = false;
  if (element.dataset.state === state) return;
  element.dataset.state = state;
  element.querySelector(".live-text").textContent = TEXTS[state];
}

/** Merge a new version of this page into what is shown. Returns how long that kept the main thread, in milliseconds. */
export function merge(html) {
  const started = performance.now();
  const fresh = parsePage(html).getElementById("live-content");
  if (fresh && content()) {
    localize(fresh);
    arrangeTable(fresh);
    keepingFocus(() => morph(content(), fresh));
  }
  performance.measure("slotwise-update", { start: started, end: performance.now() });
}

async function load() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (answer.redirected || answer.status === 404) location.reload(); // to the form to sign in, or the page is gone
  if (answer.ok) merge(await answer.text());
}

/** Load the page again. What is under way may be older than this call, so calls meanwhile share one load that follows it. */
export function refresh() {
  if (loading) {
    following ??= loading.then(() => {
      following = null;
      return refresh();
    });
    return following;
  }
  loading = load()
    .catch(() => {}) // the service cannot be reached, which the header says
    .finally(() => (loading = null));
  return loading;
}

/** Show this page at another address, for example with all its items. */
export function visit(address) {
  history.replaceState(null, "", address);
  return refresh();
}

/** Follow the events of this page, if it has any. */
export function startLive() {
  const address = content()?.dataset.events;
  if (!address) return;
  show("connecting");
  follow(address, {
    open: () => show("live"),
    changed: () => {
      show("live");
      refresh();
    },
    down: () => {
      show("down");
      refresh();
    },
    ended: () => location.reload(), // which leads to the form to sign in, or says that the page is gone
    error: ({ target }) => {
      show("lost");
      if (target.readyState === EventSource.CLOSED) refresh(); // the session may have ended meanwhile
    },
  });
}
