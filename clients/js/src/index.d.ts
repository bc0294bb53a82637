/** Where a display comes from: the service, or what replaces it while it is away. */
export type Source = "service" | "last_good" | "default";

export interface DisplayItem {
  position: string;
  item: string;
  reason: string;
}

/**
 * What one page view shows. `token` may stand in a web page. It is empty while the service is away: clicks on such a
 * display are not counted, because the service has not issued it. `error` then says why.
 */
export interface Display {
  id: string;
  token: string;
  page: string;
  layout: string;
  variant: string;
  items: DisplayItem[];
  left_out: string[];
  degraded: boolean;
  warming: boolean;
  source: Source;
  error: string;
}

/** What a page shows when nothing else is known: its positions, and items in order, the first one first. */
export interface DefaultOrder {
  positions: string[];
  items: string[];
}

/** The optional fields of a recommendation. All but `default` and `timeoutMs` are those of the HTTP interface. */
export interface RequestFields {
  id?: string;
  layout?: string;
  segment?: string;
  unit?: string;
  context?: unknown;
  eligible?: string[];
  excluded?: string[];
  pinned?: Record<string, string>;
  most_per_category?: number;
  default?: DefaultOrder;
  timeoutMs?: number;
  /** With `true`, the display counts nothing, and clicks on it are ignored. */
  preview?: boolean;
}

/** A click, a view or a discard. It needs the token of its display, or the id of the display. */
export interface Event {
  type: "click" | "view" | "discard";
  token?: string;
  display?: string;
  position?: string;
  /** An event counts once, however often it is sent with this id. The default is a random id. */
  id?: string;
}

/** The first six are those of the service; docs/clients.md describes the others. */
export type EventStatus =
  | "accepted"
  | "duplicate"
  | "late"
  | "unknown"
  | "conflict"
  | "rejected"
  | "invalid"
  | "dropped"
  | "ignored";

/** What became of an event. Every event has exactly one outcome. */
export interface EventOutcome {
  event: Event & { id: string };
  status: EventStatus;
  detail: string;
}

/** What the client uses of the module `@opentelemetry/api`. */
export interface OpenTelemetry {
  trace: { getTracer(name: string): any; setSpan(context: any, span: any): any };
  context: { active(): any };
  propagation: { inject(context: any, carrier: Record<string, string>): void };
  ROOT_CONTEXT: any;
  SpanKind: { CLIENT: number };
  SpanStatusCode: { ERROR: number };
}

/** The settings of a client. All times are in milliseconds. */
export interface Options {
  /** The key of the service, sent as `Authorization: Bearer`. In a web page, use a browser key. */
  key?: string | null;
  /** A page waits at most this long for a recommendation, including all retries: 250. */
  timeoutMs?: number;
  /** How often a recommendation is repeated after a failure, if there is time left: 2. */
  retries?: number;
  /** After this many failures in a row, the circuit breaker opens: 5. */
  breakerFailures?: number;
  /** The circuit breaker stays open for up to this long; then one request tries again: 2000. */
  breakerMs?: number;
  /** The greatest age of a last good display: an hour. */
  lastGoodMs?: number;
  /** The queue holds this many events; when it is full, the oldest event is dropped: 10,000. */
  queueSize?: number;
  /** Events in one request: 500, in browsers 100. */
  batchSize?: number;
  /** An event waits up to this long for others, so that they are sent together: 500. */
  flushMs?: number;
  /** How long the sender waits for the answer to a batch: 5000. */
  eventTimeoutMs?: number;
  /** The longest pause before a batch is sent again: 5000. */
  longestBackoffMs?: number;
  /** How long `close`, `flush` and the end of the program wait for events: 2000. */
  exitTimeoutMs?: number;
  /** Throw `SlotwiseError` instead of showing the last good display or the default order. */
  throwErrors?: boolean;
  /** Discard a display that the service may have issued although its answer did not arrive in time. Not in browsers. */
  discardUnanswered?: boolean;
  /** Called with the outcome of every event. */
  onOutcome?: ((outcome: EventOutcome) => void) | null;
  /** The module `@opentelemetry/api`. With it, each call of the service has a span. */
  openTelemetry?: OpenTelemetry | null;
  /** Returns headers for a recommendation, such as `traceparent`. */
  traceHeaders?: (() => Record<string, string>) | null;
  /** Used instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch | null;
}

/** A client of the service at a URL. Create one per program or web page. */
export class Client {
  constructor(url: string, options?: Options);
  /** A display for one page view. It takes at most `timeoutMs`, and never fails unless `throwErrors` is on. */
  recommend(page: string, fields?: RequestFields): Promise<Display>;
  /** Report a click at a position of a display, which is given as a `Display` or by its token. */
  click(display: Display | string, position: string): void;
  /** Report that a visitor has seen a display, which is given as a `Display` or by its token. */
  view(display: Display | string): void;
  /** Remove a display from the counts, given as a `Display` or by its id. */
  discard(display: Display | string): void;
  /** Queue a batch of events. */
  addEvents(events: Iterable<Event>): void;
  /** How many events had each outcome so far. */
  get outcomes(): Partial<Record<EventStatus, number>>;
  /** The number of events without an outcome. */
  get queued(): number;
  /** Send all events now. Resolves to whether all have an outcome. */
  flush(timeoutMs?: number): Promise<boolean>;
  /** Send all events and end. Events that cannot be sent in time are dropped. */
  close(timeoutMs?: number): Promise<void>;
}

export class SlotwiseError extends Error {}
export class ServiceUnavailable extends SlotwiseError {}
export class RequestRefused extends SlotwiseError {
  status: number;
  detail: string;
}
