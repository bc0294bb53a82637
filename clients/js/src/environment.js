/** What differs between Node and browsers. */

export const inBrowser = typeof window !== "undefined" && typeof document !== "undefined";

/** A random id for an event or a display. Node 18, and pages without https, lack parts of `crypto`. */
export function newId() {
  if (globalThis.crypto?.randomUUID) return globalThis.crypto.randomUUID().replaceAll("-", "");
  const random = () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0");
  return random() + random() + random() + random();
}

/** A timer that does not keep a Node program running. */
export function backgroundTimer(callback, ms) {
  const timer = setTimeout(callback, ms);
  timer.unref?.();
  return timer;
}

const openClients = new Set();

/** Flush a client when its page is left, or close it when its program has nothing else to do. */
export function endWithProgram(client) {
  if (openClients.size === 0) listen();
  openClients.add(client);
}

export function hasEnded(client) {
  openClients.delete(client);
}

let listening = false;

function listen() {
  if (listening) return;
  listening = true;
  const flushAll = () => openClients.forEach((client) => client.flush());
  if (inBrowser) {
    addEventListener("pagehide", flushAll);
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && flushAll());
  } else {
    globalThis.process?.on?.("beforeExit", () => openClients.forEach((client) => client.close()));
  }
}
