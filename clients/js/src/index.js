/** A client of the slotwise service, for Node and browsers. index.d.ts has the types. */

export { Client } from "./client.js";
export { RequestRefused, ServiceUnavailable, SlotwiseError } from "./errors.js";
