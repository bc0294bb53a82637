/** The JavaScript client with scripted answers: every event gets one outcome, and pages get a display in time. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { Client, RequestRefused, ServiceUnavailable } from "../../clients/js/src/index.js";

const DEFAULT = { positions: ["p0", "p1"], items: ["tie", "hat"] };
const URL = "http://127.0.0.1:1";

/** A client whose requests get the answers of a script: `{status, body, headers}`, or an error that `fetch` throws. */
function scripted(script, options = {}) {
  const requests = [];
  const seen = [];
  const fetch = async (url, request) => {
    requests.push({ url, headers: request.headers, body: JSON.parse(request.body) });
    assert.ok(script.length, "one request too many");
    const step = script.shift();
    const answer = typeof step === "function" ? step(requests.at(-1)) : step;
    if (answer instanceof Error) throw answer;
    return new Response(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {}), answer);
  };
  const onOutcome = ({ event, status, detail }) => seen.push({ id: event.id, status, detail });
  const client = new Client(URL, { fetch, flushMs: 1, longestBackoffMs: 5, timeoutMs: 60_000, onOutcome, ...options });
  return { client, requests, seen, statuses: () => Object.fromEntries(seen.map(({ id, status }) => [id, status])) };
}

const refused = () => Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED", message: "refused" } });
const lost = () => Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNRESET", message: "reset" } });
const problem = (status, detail = "no", pointers = [], headers = {}) => ({
  status,
  headers,
  body: { detail, errors: pointers.map((pointer) => ({ pointer, detail })) },
});
const display = (...items) => ({
  status: 201,
  body: {
    ...{ id: "d", token: "d.t", page: "shop", layout: "default", variant: "learnt", left_out: [] },
    items: items.map((item, k) => ({ position: `p${k}`, item, reason: "learnt" })),
  },
});
const statuses = (...given) => ({ status: 200, body: { results: given.map((status) => ({ status })) } });
const acceptAll = ({ body }) => statuses(...body.events.map(() => "accepted"));
const itemsOf = (shown) => shown.items.map(({ item }) => item);
const clicks = (client, ids) => client.addEvents([...ids].map((id) => ({ type: "click", token: "t", position: "p", id })));

test("a failure is retried with the same id", async () => {
  const { client, requests } = scripted([refused(), problem(503), { status: 200, body: "<html>" }, display("hat")], { retries: 3 });
  const shown = await client.recommend("a shop", { excluded: ["bag"], unit: "visitor 7", default: DEFAULT });
  assert.deepEqual([shown.source, itemsOf(shown)], ["service", ["hat"]]);
  assert.equal(new Set(requests.map(({ body }) => body.id)).size, 1);
  assert.deepEqual(Object.keys(requests[0].body).sort(), ["excluded", "id", "unit"]);
  assert.equal(requests[0].body.unit, "visitor 7");
  assert.equal(requests[0].url, `${URL}/v1/pages/a%20shop/recommendations`);
});

for (const status of [400, 401, 403, 404, 422]) {
  test(`${status} is not retried`, async () => {
    const { client, requests } = scripted([problem(status, "no such item", ["/eligible/0"])]);
    const shown = await client.recommend("shop", { default: DEFAULT });
    assert.deepEqual([shown.source, shown.error], ["default", `${status}: /eligible/0: no such item`]);
    assert.equal(requests.length, 1);
  });
}

test("the circuit breaker opens, and Retry-After of a 429 is honoured", async () => {
  const { client, requests } = scripted([refused(), refused(), display("hat")], { retries: 0, breakerFailures: 2, breakerMs: 2000 });
  for (let k = 0; k < 5; k++) assert.equal((await client.recommend("shop")).source, "default");
  assert.equal(requests.length, 2);
  await new Promise((resolve) => setTimeout(resolve, 2010));
  assert.equal((await client.recommend("shop")).source, "service");

  const limited = scripted([problem(429, "slow down", [], { "Retry-After": "3600" })]);
  await limited.client.recommend("shop");
  assert.equal((await limited.client.recommend("shop")).source, "default");
  assert.equal(limited.requests.length, 1);
});

test("a preview is neither kept nor discarded, and clicks on it are ignored", async () => {
  const preview = display("hat", "tie");
  preview.body.id = preview.body.token = "";
  const { client, requests, seen } = scripted([preview, lost()], { retries: 0 });
  const shown = await client.recommend("shop", { preview: true, default: DEFAULT });
  assert.deepEqual([shown.source, itemsOf(shown)], ["service", ["hat", "tie"]]);
  client.click(shown, "p0");
  assert.deepEqual(seen.map(({ status }) => status), ["ignored"]);
  assert.equal((await client.recommend("shop", { preview: true, default: DEFAULT })).source, "default");
  assert.equal(await client.flush(1000), true);
  assert.equal(requests[0].url, `${URL}/v1/pages/shop/recommendations?preview=true`);
  assert.deepEqual(Object.keys(requests[0].body), ["id"]);
});

test("a display that may be lost is discarded", async () => {
  const { client, requests } = scripted([lost(), acceptAll], { retries: 0 });
  await client.recommend("shop");
  assert.ok(await client.flush(60_000));
  const [{ type, display: id }] = requests[1].body.events;
  assert.deepEqual([type, id], ["discard", requests[0].body.id]);
  const away = scripted([refused()], { retries: 0 });
  await away.client.recommend("shop");
  assert.equal(away.client.queued, 0);
});

test("errors are thrown on request", async () => {
  const { client } = scripted([refused(), problem(404)], { retries: 0, throwErrors: true });
  await assert.rejects(client.recommend("shop"), ServiceUnavailable);
  await assert.rejects(client.recommend("shop"), RequestRefused);
});

test("a page never waits longer than the timeout", async (context) => {
  const server = createServer(() => {}); // it accepts requests and never answers
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close(() => {}) && server.closeAllConnections());
  const client = new Client(`http://127.0.0.1:${server.address().port}`, { timeoutMs: 100 });
  const began = performance.now();
  assert.equal((await client.recommend("shop", { default: DEFAULT })).source, "default");
  assert.ok(performance.now() - began < 30_000);
});

test("a batch that fails is sent again with the same ids", async () => {
  const failures = [refused(), lost(), problem(503), problem(429, "", [], { "Retry-After": "0" }), { status: 200, body: "<html>" }];
  const { client, requests, statuses: found } = scripted([...failures, statuses("duplicate", "accepted")]);
  clicks(client, "ab");
  assert.ok(await client.flush(60_000));
  assert.deepEqual(found(), { a: "duplicate", b: "accepted" });
  assert.equal(new Set(requests.map(({ body }) => JSON.stringify(body))).size, 1);
});

test("an invalid event does not take the others with it", async () => {
  const { client, seen, statuses: found } = scripted([problem(422, "wrong", ["/events/1/position"]), acceptAll]);
  clicks(client, "abc");
  await client.flush(60_000);
  assert.deepEqual(found(), { a: "accepted", b: "invalid", c: "accepted" });
  assert.equal(seen[0].detail, "/position: wrong");
});

test("without a pointer, halves are tried", async () => {
  const refuseD = (request) => (request.body.events.some(({ id }) => id === "d") ? problem(413) : acceptAll(request));
  const { client, statuses: found } = scripted(Array(20).fill(refuseD));
  clicks(client, "abcdefg");
  await client.flush(60_000);
  const expected = { a: "accepted", b: "accepted", c: "accepted", d: "invalid", e: "accepted", f: "accepted", g: "accepted" };
  assert.deepEqual(found(), expected);
});

test("a refusal is not retried and says so", async () => {
  const { client, seen } = scripted([problem(403, "the key has no scope feedback")]);
  clicks(client, "a");
  await client.flush(60_000);
  assert.deepEqual([seen[0].status, seen[0].detail.includes("403, the key has no scope feedback")], ["dropped", true]);
});

test("an unknown event is sent again", async () => {
  const { client, statuses: found } = scripted([statuses("unknown"), acceptAll]);
  clicks(client, "a");
  await client.flush(60_000);
  assert.deepEqual(found(), { a: "accepted" });
});

test("a full queue drops the oldest and reports it", async () => {
  const { client, requests, seen } = scripted([acceptAll], { queueSize: 3, flushMs: 60_000 });
  clicks(client, "abcde");
  assert.deepEqual(seen.map(({ id, status }) => [id, status]), [["a", "dropped"], ["b", "dropped"]]);
  await client.flush(60_000);
  assert.deepEqual(requests[0].body.events.map(({ id }) => id), ["c", "d", "e"]);
  assert.deepEqual(client.outcomes, { dropped: 2, accepted: 3 });
});

test("closing reports what is lost, and later events too", async () => {
  const { client, seen } = scripted(Array(1000).fill(refused()));
  clicks(client, "a");
  await client.close(20);
  clicks(client, "b");
  assert.deepEqual(seen.map(({ id, status }) => [id, status]), [["a", "dropped"], ["b", "dropped"]]);
});

test("the key and trace headers are sent", async () => {
  const { client, requests } = scripted([display("hat"), acceptAll], { key: "sw_1", traceHeaders: () => ({ traceparent: "00-1" }) });
  client.click(await client.recommend("shop"), "p0");
  await client.flush(60_000);
  assert.deepEqual(requests.map(({ headers }) => headers.Authorization), ["Bearer sw_1", "Bearer sw_1"]);
  assert.equal(requests[0].headers.traceparent, "00-1");
});

test("hooks for traces that fail do no harm", async () => {
  const fails = () => assert.fail("a broken hook");
  for (const hooks of [{ traceHeaders: fails }, { openTelemetry: { trace: { getTracer: fails } } }, { openTelemetry: {} }]) {
    const { client, statuses } = scripted([display("hat"), acceptAll], hooks);
    client.click(await client.recommend("shop"), "p0");
    await client.flush(60_000);
    assert.deepEqual(Object.values(statuses()), ["accepted"]);
  }
});

test("what cannot be sent is reported at once", () => {
  const { client, seen } = scripted([]);
  client.click("", "p0");
  client.click("t".repeat(5000), "p0");
  client.click("t", 1n);
  assert.deepEqual(seen.map(({ status }) => status), ["ignored", "invalid", "invalid"]);
});

test("wrong arguments are refused", () => {
  for (const url of ["", "127.0.0.1:8000", "ftp://127.0.0.1"]) assert.throws(() => new Client(url), /not the address/);
  for (const options of [{ timeout: 1 }, { timeoutMs: 0 }, { batchSize: 501 }, { key: "a b" }]) {
    assert.throws(() => new Client(URL, options));
  }
});
