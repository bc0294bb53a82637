/** Client: asks for displays, and sends events in the background. */

import { endWithProgram, hasEnded, inBrowser, newId } from "./environment.js";
import { EventQueue } from "./event_queue.js";
import { EventSender } from "./event_sender.js";
import { describeFailure, exchange } from "./exchange.js";
import { readOptions } from "./options.js";
import { Outcomes } from "./outcomes.js";
import { Recommendations } from "./recommendations.js";
import { Tracing } from "./tracing.js";

const MOST_CHARACTERS = 4096; // of one event as JSON; the longest valid event is far shorter
const POLL_MS = 5;

export class Client {
  #url;
  #options;
  #outcomes;
  #queue;
  #sender;
  #recommendations;
  #tracing;
  #closed = false;

  constructor(url, options = {}) {
    this.#url = readUrl(url);
    this.#options = readOptions(options);
    this.#tracing = new Tracing(this.#options);
    this.#outcomes = new Outcomes(this.#options.onOutcome);
    this.#queue = new EventQueue(this.#options.queueSize, (event, status, detail) => this.#outcomes.report(event, status, detail));
    this.#sender = new EventSender(this.#options, this.#queue, (batch, timeoutMs) => this.#sendEvents(batch, timeoutMs));
    this.#recommendations = new Recommendations(
      this.#options,
      (path, body, headers, timeoutMs) => this.#post(path, { body, headers: { ...this.#headers(), ...headers } }, timeoutMs),
      (id) => this.discard(id),
      this.#tracing,
    );
    endWithProgram(this);
  }

  recommend(page, fields = {}) {
    return this.#recommendations.recommend(page, fields);
  }

  click(display, position) {
    this.#add({ type: "click", token: display?.token ?? display, position });
  }

  view(display) {
    this.#add({ type: "view", token: display?.token ?? display });
  }

  discard(display) {
    this.#add({ type: "discard", display: display?.id ?? display });
  }

  addEvents(events) {
    for (const event of events) this.#add(event);
  }

  get outcomes() {
    return { ...this.#outcomes.counts };
  }

  get queued() {
    return this.#queue.length;
  }

  async flush(timeoutMs = this.#options.exitTimeoutMs) {
    return this.#drain(timeoutMs, false);
  }

  async close(timeoutMs = this.#options.exitTimeoutMs) {
    if (this.#closed) return;
    this.#closed = true;
    await this.#drain(timeoutMs, true);
    this.#queue.close("the client was closed before the event could be sent");
    hasEnded(this);
  }

  async #drain(timeoutMs, closing) {
    const deadline = performance.now() + timeoutMs;
    this.#sender.hasten(closing);
    while (this.queued && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    return this.queued === 0;
  }

  /** Queue an event with an id of its own, so that it counts once, however often it is sent. It never throws. */
  #add(given) {
    const event = { id: newId(), ...given };
    if (!event.token && !event.display) {
      this.#outcomes.report(event, "ignored", "the display did not come from the service");
      return;
    }
    let content;
    try {
      content = JSON.stringify(event);
    } catch (error) {
      this.#outcomes.report(event, "invalid", `the event cannot be written as JSON: ${error.message}`);
      return;
    }
    if (content.length > MOST_CHARACTERS) {
      this.#outcomes.report(event, "invalid", `the event has ${content.length} characters, more than ${MOST_CHARACTERS}`);
      return;
    }
    this.#queue.add(event, content);
    if (this.#queue.waiting === 1 || this.#queue.waiting >= this.#options.batchSize) this.#sender.wake();
  }

  async #sendEvents(batch, timeoutMs) {
    const body = `{"events": [${batch.map((entry) => entry.content).join(", ")}]}`;
    // in a browser, text/plain without a key or a trace needs no preflight request, and `keepalive` lets it outlive its page
    const needsNoKey = inBrowser && batch.every(({ event }) => event.token);
    const call = this.#tracing.rootCall("slotwise send events", { "slotwise.events": batch.length });
    const headers = needsNoKey ? { "Content-Type": "text/plain;charset=UTF-8" } : { ...this.#headers(), ...call.headers };
    const result = await this.#post("/v1/events", { body, headers, keepalive: inBrowser }, timeoutMs);
    call.attempted(result);
    if (result.status !== 200) call.failure = describeFailure(result);
    call.end();
    return result;
  }

  #post(path, request, timeoutMs) {
    return exchange(this.#options.fetch ?? globalThis.fetch, this.#url + path, request, timeoutMs);
  }

  #headers() {
    const headers = { "Content-Type": "application/json" };
    if (this.#options.key) headers.Authorization = `Bearer ${this.#options.key}`;
    return headers;
  }
}

function readUrl(url) {
  let parsed = null;
  try {
    parsed = new URL(url);
  } catch {
    // the same error as for other schemes
  }
  if (!parsed || !["http:", "https:"].includes(parsed.protocol)) {
    throw new TypeError(`${JSON.stringify(url)} is not the address of a service, such as https://slotwise.example`);
  }
  return String(url).replace(/\/+$/, "");
}
