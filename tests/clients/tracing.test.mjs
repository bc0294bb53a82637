/** Traces of the JavaScript client, with the real OpenTelemetry of examples/sites. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Client } from "../../clients/js/src/index.js";

const require = createRequire(new URL("../../examples/sites/package.json", import.meta.url));
const api = require("@opentelemetry/api");
const { AsyncLocalStorageContextManager } = require("@opentelemetry/context-async-hooks");
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const { W3CTraceContextPropagator } = require("@opentelemetry/core");

const exporter = new InMemorySpanExporter();
api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());

const shown = { id: "d", token: "d.t", page: "shop", layout: "default", variant: "learnt", left_out: [], items: [] };
const accepted = { results: [{ status: "accepted" }] };

/** A client whose requests get these answers in turn: [status, body], or an error. It returns the spans, too. */
function traced(answers, options = {}) {
  exporter.reset();
  const sent = [];
  const fetch = async (_, { headers }) => {
    sent.push(headers.traceparent);
    const answer = answers.shift() ?? new TypeError("fetch failed");
    if (answer instanceof Error) throw answer;
    return new Response(JSON.stringify(answer[1]), { status: answer[0] });
  };
  const client = new Client("http://127.0.0.1:1", { fetch, openTelemetry: api, timeoutMs: 60_000, flushMs: 1, ...options });
  return { client, sent, spans: () => exporter.getFinishedSpans() };
}

const headerOf = (span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`;

test("a call has a span within the trace of its page view", async () => {
  const { client, sent, spans } = traced([[201, shown], [200, accepted]]);
  await api.trace.getTracer("test").startActiveSpan("page view", async (view) => {
    client.click(await client.recommend("shop"), "hero");
    await client.flush(60_000);
    view.end();
  });
  const [recommended, events, view] = spans();
  assert.deepEqual([recommended.name, recommended.kind], ["slotwise recommend", api.SpanKind.CLIENT]);
  assert.equal(recommended.parentSpanContext.spanId, view.spanContext().spanId);
  assert.equal(recommended.status.code, api.SpanStatusCode.UNSET);
  assert.deepEqual(recommended.attributes, {
    "slotwise.page": "shop",
    "slotwise.attempts": 1,
    "slotwise.source": "service",
    "http.response.status_code": 201,
  });
  assert.deepEqual([events.name, events.parentSpanContext], ["slotwise send events", undefined]);
  assert.deepEqual(events.attributes, { "slotwise.events": 1, "slotwise.attempts": 1, "http.response.status_code": 200 });
  assert.deepEqual(sent, [headerOf(recommended), headerOf(events)]);
});

test("a fallback is an error with its attempts", async () => {
  const { client, spans } = traced([], { retries: 2 });
  assert.equal((await client.recommend("shop")).source, "default");
  const [span] = spans();
  assert.deepEqual(span.attributes, { "slotwise.page": "shop", "slotwise.attempts": 3, "slotwise.source": "default" });
  assert.deepEqual(span.status, { code: api.SpanStatusCode.ERROR, message: "no answer from the service: fetch failed" });
});

test("what the service refuses is an error with its status", async () => {
  const { client, spans } = traced([[404, { detail: "no page" }]], { throwErrors: true });
  await assert.rejects(client.recommend("shop"));
  const [span] = spans();
  assert.equal(span.attributes["http.response.status_code"], 404);
  assert.equal(span.status.code, api.SpanStatusCode.ERROR);
});
