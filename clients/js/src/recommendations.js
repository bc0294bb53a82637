/** Recommendations: retries within the timeout, the circuit breaker, and what to show while the service is away. */

import { backoffMs } from "./backoff.js";
import { CircuitBreaker } from "./breaker.js";
import { newId } from "./environment.js";
import { RequestRefused, ServiceUnavailable, SlotwiseError } from "./errors.js";
import { describeFailure, problemDetail } from "./exchange.js";
import { LastGoodDisplays, fallbackDisplay } from "./fallback.js";

const FIRST_BACKOFF = 20;
const LONGEST_BACKOFF = 200;
const LONGEST_PAUSE = 300_000; // that a Retry-After can keep pages from asking

export class Recommendations {
  /** `post(path, body, headers, timeoutMs)` sends a request; `discard(id)` is called for a display that may be lost. */
  constructor(options, post, discard, tracing) {
    this.options = options;
    this.post = post;
    this.discard = discard;
    this.tracing = tracing;
    this.breaker = new CircuitBreaker(options.breakerFailures, options.breakerMs);
    this.lastGood = new LastGoodDisplays(options.lastGoodMs);
  }

  /** A display of the service, or what replaces it. */
  async recommend(page, fields) {
    const call = this.tracing.call("slotwise recommend", { "slotwise.page": String(page) });
    try {
      const display = await this.#ask(page, call, fields);
      if (!fields.preview) this.lastGood.keep(page, fields, display);
      return call.shows(display);
    } catch (error) {
      call.failure = String(error?.message);
      if (this.options.throwErrors || !(error instanceof SlotwiseError)) throw error;
      return call.shows(fallbackDisplay(page, fields, this.lastGood.find(page, fields), error.message));
    } finally {
      call.end();
    }
  }

  async #ask(page, call, { default: _, timeoutMs = this.options.timeoutMs, preview = false, ...sent }) {
    const id = sent.id ?? newId();
    const body = encode({ ...sent, id });
    const path = `/v1/pages/${encodeURIComponent(page)}/recommendations${preview ? "?preview=true" : ""}`;
    const deadline = performance.now() + timeoutMs;
    let failure = "the circuit breaker is open: the service failed several times in a row";
    let maybeIssued = false;
    for (let attempt = 0; attempt <= this.options.retries; attempt++) {
      const remaining = deadline - performance.now();
      if (remaining <= 0 || !this.breaker.allows()) break;
      const result = await this.post(path, body, call.headers, remaining);
      call.attempted(result);
      const display = this.#read(result);
      if (display) return display;
      failure = describeFailure(result);
      maybeIssued ||= result.status ? result.status !== 429 : result.sent;
      const pause = backoffMs(attempt + 1, FIRST_BACKOFF, LONGEST_BACKOFF);
      if (attempt === this.options.retries || performance.now() + pause >= deadline || this.breaker.isOpen) break;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    if (maybeIssued && this.options.discardUnanswered && sent.id === undefined && !preview) this.discard(id);
    throw new ServiceUnavailable(failure);
  }

  /** The display in an answer, or null if the request may be repeated. Throws RequestRefused otherwise. */
  #read({ status, body, retryAfterMs }) {
    if (status === 429) {
      this.breaker.pause(Math.min(retryAfterMs ?? 1000, LONGEST_PAUSE));
      return null;
    }
    if (isDisplay(status, body)) {
      this.breaker.succeeded();
      return { ...body, source: "service", error: "" };
    }
    if (status >= 300 && status < 500 && status !== 408) {
      this.breaker.succeeded();
      throw new RequestRefused(status, problemDetail(body));
    }
    this.breaker.failed();
    return null;
  }
}

const isDisplay = (status, body) =>
  (status === 200 || status === 201) && typeof body?.token === "string" && Array.isArray(body.items) && Array.isArray(body.left_out);

function encode(body) {
  try {
    return JSON.stringify(body);
  } catch (error) {
    throw new RequestRefused(422, `the request cannot be written as JSON: ${error.message}`);
  }
}
