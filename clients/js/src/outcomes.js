/** The outcomes of events: they are counted, passed to the callback of the caller, and logged when events are lost. */

const LOG_MS = 10_000; // between two lines about the same status
const NOT_COUNTED = new Set(["unknown", "conflict", "rejected", "invalid", "dropped"]);

export class Outcomes {
  counts = {};
  #logged = {}; // time and count of the last line, by status

  constructor(callback) {
    this.callback = callback;
  }

  report(event, status, detail) {
    this.counts[status] = (this.counts[status] ?? 0) + 1;
    const isExpected = event.type === "discard" && status === "unknown"; // of a display that was never issued
    if (NOT_COUNTED.has(status) && !isExpected) this.#log(status, detail);
    try {
      this.callback?.({ event, status, detail });
    } catch (error) {
      console.warn("slotwise: the callback onOutcome failed", error);
    }
  }

  #log(status, detail) {
    const { at = -Infinity, count = 0 } = this.#logged[status] ?? {};
    const total = this.counts[status];
    if (performance.now() - at < LOG_MS) return;
    this.#logged[status] = { at: performance.now(), count: total };
    console.warn(`slotwise: ${total - count} event(s) ${status}, ${total} in all; the last one: ${detail}`);
  }
}
