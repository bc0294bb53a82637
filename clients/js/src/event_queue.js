/** The bounded queue of events. When it is full, it drops the oldest event and reports this. */

export class EventQueue {
  #waiting = []; // the oldest is first
  #postponed = []; // each with the time when it may be sent again
  #inFlight = 0;
  #size;
  #full;

  constructor(size, report, clock = () => performance.now()) {
    this.#size = size;
    this.#full = `the queue is full (${size} events)`;
    this.report = report;
    this.clock = clock;
  }

  /** The number of events without an outcome, including those that are being sent. */
  get length() {
    return this.#waiting.length + this.#postponed.length + this.#inFlight;
  }

  get waiting() {
    return this.#waiting.length;
  }

  add(event, content) {
    this.#waiting.push({ event, content, added: this.clock(), tries: 0 });
    this.#dropOldest();
  }

  /** The oldest events. The caller settles them, gives them back or postpones them. */
  take(most) {
    this.#requeueDue();
    const batch = this.#waiting.splice(0, most);
    this.#inFlight += batch.length;
    return batch;
  }

  settle(entry, status, detail = "") {
    this.#inFlight -= 1;
    this.report(entry.event, status, detail);
  }

  /** Put events back that were taken and not delivered. They are the oldest again. */
  giveBack(batch) {
    this.#inFlight -= batch.length;
    this.#waiting.unshift(...batch);
    this.#dropOldest();
  }

  postpone(entry, ms) {
    this.#inFlight -= 1;
    this.#postponed.push({ entry, at: this.clock() + ms });
    this.#dropOldest();
  }

  /** The time until the next batch should be sent: 0 when it is full, null when nothing waits. */
  dueIn(batchSize, flushMs) {
    this.#requeueDue();
    if (this.#waiting.length >= batchSize) return 0;
    const times = [];
    if (this.#waiting.length) times.push(this.#waiting[0].added + flushMs);
    if (this.#postponed.length) times.push(this.#postponed[0].at);
    return times.length ? Math.max(0, Math.min(...times) - this.clock()) : null;
  }

  /** Drop what waits, and from now on whatever is added or given back. */
  close(reason) {
    this.#size = 0;
    this.#full = reason;
    this.#dropOldest();
  }

  #requeueDue() {
    while (this.#postponed.length && this.#postponed[0].at <= this.clock()) this.#waiting.unshift(this.#postponed.shift().entry);
  }

  #dropOldest() {
    const excess = this.#waiting.length + this.#postponed.length - this.#size;
    if (excess <= 0) return;
    const dropped = this.#waiting.splice(0, excess);
    dropped.push(...this.#postponed.splice(0, excess - dropped.length).map(({ entry }) => entry));
    for (const { event } of dropped) this.report(event, "dropped", this.#full);
  }
}
