// Calls of the HTTP interface, the same that every other client uses.
import { content } from "./page_data.js";

/** A call that the service refused. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `the service answered ${status}`);
    this.status = status;
  }
}

/** Call the HTTP interface. Returns the JSON and the ETag, or throws `Refused`. */
export async function call(method, path, { body, etag } = {}) {
  const headers = { accept: "application/json" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (etag) headers["if-match"] = etag;
  const proof = content()?.dataset.proof;
  if (proof) headers["x-slotwise-session"] = proof;
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Refused(0, { detail: "the service cannot be reached: check the connection and try again" });
  }
  const text = await answer.text();
  const json = text ? JSON.parse(text) : null;
  if (answer.status === 401) location.reload(); // the form to sign in
  if (!answer.ok) throw new Refused(answer.status, json ?? {});
  return { json, etag: answer.headers.get("etag") };
}

export const pagePath = (page) => `/v1/pages/${encodeURIComponent(page)}`;
export const itemPath = (page, item) => `${pagePath(page)}/items/${encodeURIComponent(item)}`;
export const pinPath = (page, layout, position) =>
  `${pagePath(page)}/pins/${encodeURIComponent(layout)}/${encodeURIComponent(position)}`;
