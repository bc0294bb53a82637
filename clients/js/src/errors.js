/** The errors that a client throws when `throwErrors` is on. */

export class SlotwiseError extends Error {
  name = "SlotwiseError";
}

/** The service did not answer in time, could not be reached, or had an error of its own. */
export class ServiceUnavailable extends SlotwiseError {
  name = "ServiceUnavailable";
}

/** The service refused the request: an unknown page or item, an invalid field, or a key without permission. */
export class RequestRefused extends SlotwiseError {
  name = "RequestRefused";

  constructor(status, detail) {
    super(`${status}: ${detail}`);
    this.status = status;
    this.detail = detail;
  }
}
