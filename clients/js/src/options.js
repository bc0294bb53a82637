/** The settings of a client. index.d.ts describes them. */

import { inBrowser } from "./environment.js";

export const DEFAULTS = Object.freeze({
  key: null,
  timeoutMs: 250,
  retries: 2,
  breakerFailures: 5,
  breakerMs: 2000,
  lastGoodMs: 3_600_000,
  queueSize: 10_000,
  batchSize: inBrowser ? 100 : 500, // a browser lets a request outlive its page only if it is shorter than 64 KiB
  flushMs: 500,
  eventTimeoutMs: 5000,
  longestBackoffMs: 5000,
  exitTimeoutMs: 2000,
  throwErrors: false,
  discardUnanswered: !inBrowser, // the key of a web page does not permit discards
  onOutcome: null,
  openTelemetry: null,
  traceHeaders: null,
  fetch: null,
});

const LEAST = { retries: 0, exitTimeoutMs: 0, lastGoodMs: 0 }; // of other numbers: more than 0

/** All settings, with defaults. Throws for an unknown name and for a number out of range. */
export function readOptions(given) {
  for (const [name, value] of Object.entries(given)) {
    if (!(name in DEFAULTS)) throw new TypeError(`there is no option ${name}; there are ${Object.keys(DEFAULTS).join(", ")}`);
    if (typeof DEFAULTS[name] !== "number") continue;
    const inRange = name in LEAST ? value >= LEAST[name] : value > 0;
    if (typeof value !== "number" || !inRange) throw new RangeError(`${name} = ${value} is too small`);
  }
  const options = { ...DEFAULTS, ...given };
  if (options.batchSize > 500) throw new RangeError(`batchSize = ${options.batchSize} is more than 500, the limit of the service`);
  if (options.key !== null && !/^[\x21-\x7e]+$/.test(options.key)) {
    throw new RangeError("the key contains characters that no key has, such as spaces or line breaks");
  }
  return options;
}
