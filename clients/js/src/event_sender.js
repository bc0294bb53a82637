/** The background sender: takes batches from the queue and sends them until each event has an outcome. */

import { backoffMs } from "./backoff.js";
import { backgroundTimer } from "./environment.js";
import { fieldErrors, problemDetail } from "./exchange.js";

const FIRST_BACKOFF = 100;
const MOST_UNKNOWN = 3; // a display is committed up to 0.1 s after it was issued; until then, its events are unknown
const UNKNOWN_MS = 250;
const LONGEST_CLOSING_BACKOFF = 200;
const INVALID = [400, 413, 422]; // the batch holds something that the service cannot read
const RETRIED = [408, 425, 429]; // and all 5xx

export class EventSender {
  #closing = false; // send what there is and end
  #hurry = false; // send what there is now
  #failures = 0;
  #retryAt = 0;
  #most; // smaller while the service refuses a batch without saying which event is wrong
  #running = null;
  #wakeUp = () => {};

  /** `post(batch, timeoutMs)` sends a batch. */
  constructor(options, queue, post) {
    this.options = options;
    this.queue = queue;
    this.post = post;
    this.#most = options.batchSize;
  }

  /** Start, or look at the queue again. */
  wake() {
    this.#running ??= this.#run();
    this.#wakeUp();
  }

  /** Send what there is now, even if a batch has just failed. With `closing`, end then. */
  hasten(closing = false) {
    this.#closing ||= closing;
    this.#hurry = true;
    this.#retryAt = 0;
    if (this.queue.length) this.wake();
  }

  async #run() {
    for (;;) {
      const ms = this.#untilDue();
      if (ms === null) {
        this.#hurry = false;
        if (this.#closing) return;
        await this.#wait(null);
      } else if (ms > 0) {
        await this.#wait(ms);
      } else {
        await this.#sendBatch();
      }
    }
  }

  #untilDue() {
    const due = this.queue.dueIn(this.#most, this.options.flushMs);
    if (due === null) return null;
    return Math.max(this.#hurry || this.#closing ? 0 : due, this.#retryAt - performance.now());
  }

  /** Wait until the client wakes the sender, or for this long. */
  #wait(ms) {
    return new Promise((resolve) => {
      const timer = ms === null ? null : backgroundTimer(resolve, ms);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #sendBatch() {
    const batch = this.queue.take(this.#most);
    if (!batch.length) return this.#wait(UNKNOWN_MS); // those that are left are postponed
    const result = await this.post(batch, this.options.eventTimeoutMs);
    this.queue.giveBack(this.#settle(batch, result));
  }

  /** Report the outcomes that an answer has, and return the events that are to be sent again. */
  #settle(batch, { status, body, retryAfterMs }) {
    if (!status || RETRIED.includes(status) || status >= 500) return this.#retryLater(batch, retryAfterMs);
    if (status === 200) {
      const results = body?.results;
      if (!Array.isArray(results) || results.length !== batch.length) return this.#retryLater(batch);
      this.#failures = this.#retryAt = 0;
      this.#most = Math.min(this.options.batchSize, 2 * this.#most);
      batch.forEach((entry, index) => this.#report(entry, results[index] ?? {}));
      return [];
    }
    if (INVALID.includes(status)) return this.#isolate(batch, body);
    for (const entry of batch) this.queue.settle(entry, "dropped", `the service refuses events: ${status}, ${problemDetail(body)}`);
    return [];
  }

  #retryLater(batch, retryAfterMs = 0) {
    this.#failures += 1;
    const longest = this.#closing ? LONGEST_CLOSING_BACKOFF : this.options.longestBackoffMs;
    const pause = backoffMs(this.#failures, FIRST_BACKOFF, longest);
    this.#retryAt = performance.now() + Math.max(pause, retryAfterMs ?? 0);
    return batch;
  }

  #report(entry, { status, detail }) {
    if (status === "unknown" && entry.tries < MOST_UNKNOWN) {
      entry.tries += 1;
      this.queue.postpone(entry, UNKNOWN_MS);
    } else {
      this.queue.settle(entry, status, detail);
    }
  }

  /** Remove the invalid events from a batch. Without pointers to them, half of the batch is tried next. */
  #isolate(batch, body) {
    const wrong = eventPointers(body, batch.length);
    if (!wrong.size && batch.length === 1) wrong.set(0, problemDetail(body));
    if (!wrong.size) this.#most = Math.floor(batch.length / 2);
    for (const [index, detail] of wrong) this.queue.settle(batch[index], "invalid", detail);
    return batch.filter((_, index) => !wrong.has(index));
  }
}

/** The invalid events that an answer names: their index in the batch, and what is wrong in them. */
function eventPointers(body, length) {
  const found = new Map();
  for (const { pointer, detail } of fieldErrors(body)) {
    const [, index, field = ""] = /^\/events\/(\d+)(\/.*)?$/.exec(pointer) ?? [];
    if (index !== undefined && Number(index) < length) found.set(Number(index), field ? `${field}: ${detail}` : String(detail));
  }
  return found;
}
