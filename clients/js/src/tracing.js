/** Traces: a span of OpenTelemetry for each call of the service. Nothing here throws: tracing must not break a page. */

export class Tracing {
  #api;
  #tracer;
  #traceHeaders;

  constructor({ openTelemetry, traceHeaders }) {
    this.#api = openTelemetry;
    this.#tracer = harmless(() => openTelemetry?.trace.getTracer("slotwise-client"));
    this.#traceHeaders = traceHeaders;
  }

  /** A call within the trace of its page view. */
  call(name, attributes) {
    const started = this.#start(name, attributes, (api) => api.context.active());
    if (this.#traceHeaders) started.headers = harmless(() => ({ ...this.#traceHeaders() })) ?? {};
    return started;
  }

  /** A call with a trace of its own. */
  rootCall(name, attributes) {
    return this.#start(name, attributes, (api) => api.ROOT_CONTEXT);
  }

  #start(name, attributes, contextOf) {
    const api = this.#api;
    const headers = {};
    const span = harmless(() => {
      if (!this.#tracer) return null;
      const context = contextOf(api);
      const span = this.#tracer.startSpan(name, { kind: api.SpanKind.CLIENT, attributes }, context);
      api.propagation.inject(api.trace.setSpan(context, span), headers);
      return span;
    });
    return new Call(headers, (call) => harmless(() => endSpan(api, span, call)));
  }
}

/** One call of the service, with all its attempts. `headers` are those of its trace. */
class Call {
  attributes = { "slotwise.attempts": 0 };
  failure = null; // why the call failed
  #end;

  constructor(headers, end) {
    this.headers = headers;
    this.#end = end;
  }

  attempted({ status }) {
    this.attributes["slotwise.attempts"] += 1;
    delete this.attributes["http.response.status_code"];
    if (status) this.attributes["http.response.status_code"] = status;
  }

  /** Note which display a page shows, and return it. */
  shows(display) {
    this.attributes["slotwise.source"] = display.source;
    return display;
  }

  end() {
    this.#end(this);
  }
}

function endSpan(api, span, { attributes, failure }) {
  if (!span) return;
  span.setAttributes(attributes);
  if (failure !== null) span.setStatus({ code: api.SpanStatusCode.ERROR, message: failure });
  span.end();
}

function harmless(step) {
  try {
    return step();
  } catch (error) {
    console.warn("slotwise: a hook for traces failed", error);
    return null;
  }
}
