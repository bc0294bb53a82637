// Server-sent events, while the page is visible: browsers allow few connections to a host, and each stream keeps one.
const RETRY = 3000; // milliseconds

/** Call the listeners, by the names of events. Each new connection begins with the newest event. */
export function follow(address, listeners) {
  let source = null;
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(address);
    for (const [name, listener] of Object.entries(listeners)) source.addEventListener(name, listener);
    source.addEventListener("error", ({ target }) => {
      if (target.readyState !== EventSource.CLOSED || target !== source) return; // otherwise the browser tries again
      source = null;
      setTimeout(open, RETRY);
    });
  };
  const close = () => {
    source?.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
}
