/** A circuit breaker: after several failures in a row, pages stop waiting for the service for a while. */

export class CircuitBreaker {
  #failures = 0;
  #openUntil = 0;

  constructor(limit, ms, clock = () => performance.now()) {
    this.limit = limit;
    this.ms = ms;
    this.clock = clock;
  }

  get isOpen() {
    return this.clock() < this.#openUntil;
  }

  /** Whether a request may be sent now. Its result must be reported. */
  allows() {
    if (this.isOpen) return false;
    if (this.#failures >= this.limit) this.#openUntil = this.clock() + this.ms; // others wait for this request
    return true;
  }

  succeeded() {
    this.#failures = 0;
    this.#openUntil = 0;
  }

  failed() {
    this.#failures += 1;
    if (this.#failures >= this.limit) this.#openUntil = this.clock() + this.ms * (0.5 + Math.random() / 2);
  }

  /** Stay open for this long, because the service asks for it. */
  pause(ms) {
    this.#openUntil = Math.max(this.#openUntil, this.clock() + ms);
  }
}
