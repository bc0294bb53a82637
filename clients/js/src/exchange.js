/** One request to the service: its answer, or why there is none. It never throws and never takes longer than its timeout. */

const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Returns `{status, body, retryAfterMs}`, or `{reason, sent}`: whether the service may have received the request. */
export async function exchange(fetch, url, request, timeoutMs) {
  const abort = new AbortController();
  let timer;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(() => resolve({ reason: "no answer in time", sent: true }), timeoutMs);
  });
  const answered = (async () => {
    const answer = await fetch(url, { ...request, method: "POST", credentials: "omit", redirect: "manual", signal: abort.signal });
    const text = await answer.text();
    return { status: answer.status, body: parse(text), retryAfterMs: retryAfterMs(answer.headers.get("retry-after")) };
  })().catch((error) => ({ reason: reasonOf(error), sent: !NEVER_SENT.has(error?.cause?.code) }));
  const result = await Promise.race([answered, timeout]);
  clearTimeout(timer);
  abort.abort();
  return result;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // another program answers in place of the service
  }
}

function retryAfterMs(header) {
  const seconds = header === null ? NaN : Number(header); // a date is rare, so the client's own pause serves
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : null;
}

const reasonOf = (error) => String(error?.cause?.message || error?.message || error);

/** Why a request failed, in a few words. */
export const describeFailure = ({ status, body, reason }) =>
  status ? `the service answers ${status}: ${problemDetail(body)}` : `no answer from the service: ${reason}`;

/** The reason in an error answer (problem+json): the errors of its fields, or else its detail. */
export function problemDetail(body) {
  const byField = fieldErrors(body).map(({ pointer, detail }) => `${pointer}: ${detail}`);
  return byField.join("; ") || String(body?.detail ?? "no reason given");
}

export const fieldErrors = (body) =>
  (Array.isArray(body?.errors) ? body.errors : []).filter((error) => typeof error?.pointer === "string" && error.pointer);
