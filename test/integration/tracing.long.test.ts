import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { toLogRecord } from "@topicsync/kafka/internals";
import { getHeaderText } from "@topicsync/kafka";
import { call } from "../support/http.ts";
import { unique } from "../support/names.ts";
import { startReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts";
import { until } from "../support/poll.ts";
import { stage } from "../support/scene.ts";
import { ownNames, startTopicsync, type TestService } from "../support/service.ts";

const { kafka, producer, scene } = stage();
const { settings, topic, deadLetterTopic, key, startProcess } = scene();
const feedbackTopic = unique("feedback");
const eventsTopic = unique("events");
const folder = mkdtempSync(join(tmpdir(), "topicsync-traces-"));
after(() => {
  rmSync(folder, { recursive: true });
});
const receiver = await startReceiver();
let service: TestService;

/**
 * Settings under which a service records the OpenTelemetry modules that it loads, and a function to read
 * them.
 */
function recordModules(name: string) {
  const file = join(folder, name);
  const hooks = pathToFileURL(join(import.meta.dirname, "../support/loaded-modules.ts")).href;
  return {
    settings: { NODE_OPTIONS: `--import=${hooks}`, LOADED_MODULES: file },
    packages: (): string[] => {
      const urls = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
      return [...new Set(urls.flatMap((url) => /@opentelemetry\/[\w-]+/.exec(url)?.[0] ?? []))];
    },
  };
}

const traced = recordModules("traced");

before(async () => {
  service = await startProcess({
    ...traced.settings,
    HTTP_TRUSTED_PROXIES: "127.0.0.1",
    KAFKA_PUSH_FEEDBACK_TOPIC: feedbackTopic,
    KAFKA_EVENTS_TOPIC: eventsTopic,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_TIMEOUT: "5000",
    OTEL_BSP_SCHEDULE_DELAY: "50",
    OTEL_SERVICE_NAME: "sync-of-the-tests",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
  });
});

/** A trace that began elsewhere: its id, the parent span, and the header. */
function startTrace({ sampled = true } = {}) {
  const traceId = randomBytes(16).toString("hex");
  const spanId = randomBytes(8).toString("hex");
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}` };
}

const findSpans = ({ traceId }: { readonly traceId: string }): ReceivedSpan[] =>
  receiver.spans.filter((span) => span.traceId === traceId);
const waitForSpans = (trace: { readonly traceId: string }, count: number): Promise<ReceivedSpan[]> =>
  until(`${count} spans of the trace have arrived`, () => {
    const spans = findSpans(trace);
    return spans.length >= count && spans;
  });
const announcement = (externalId: string, traceparent: string, more: object = {}) => ({
  key: externalId,
  value: JSON.stringify({ externalId, name: externalId, ...more }),
  headers: { traceparent },
});
const stages = ["decode", "decide", "write", "commit"];

describe("the trace of an announcement", () => {
  it("continues the record's traceparent with decode, decide, write and commit, one after the other", async () => {
    const trace = startTrace();
    const [sent] = await producer.send({
      topic,
      messages: [announcement(unique("topic"), trace.traceparent)],
    });
    const spans = await waitForSpans(trace, 5);
    const [process, ...others] = spans.filter(({ parentSpanId }) => parentSpanId === trace.spanId);
    assert.ok(process !== undefined);
    assert.deepEqual(others, []);
    assert.equal(process.name, `process ${topic}`);
    assert.equal(process.kind, 5);
    assert.equal(process.status, 0);
    assert.deepEqual(process.attributes, {
      "messaging.system": "kafka",
      "messaging.operation.type": "process",
      "messaging.operation.name": "process",
      "messaging.destination.name": topic,
      "messaging.destination.partition.id": "0",
      "messaging.consumer.group.name": key.group,
      "messaging.kafka.offset": Number(sent?.baseOffset),
      "topicsync.batch.records": 1,
    });
    assert.equal(process.resource["service.name"], "sync-of-the-tests");
    assert.equal(process.resource["deployment.environment.name"], "test");

    const within = spans.filter((span) => span !== process).toSorted((a, b) => Number(a.began - b.began));
    assert.deepEqual(
      within.map(({ name, parentSpanId, status }) => ({ name, parentSpanId, status })),
      stages.map((name) => ({ name, parentSpanId: process.spanId, status: 0 })),
    );
    for (const [index, { began, ended }] of within.entries()) {
      assert.ok(began <= ended);
      assert.ok(began >= (within[index - 1]?.ended ?? process.began));
      assert.ok(ended <= process.ended);
    }
  });

  it("is an error with the code if the record is rejected, and the dead letter continues the trace", async () => {
    const trace = startTrace();
    await producer.send({
      topic,
      messages: [announcement(unique("topic"), trace.traceparent, { headerQuery: "=" })],
    });
    const spans = await waitForSpans(trace, 5);
    const process = spans.find(({ kind }) => kind === 5);
    assert.equal(process?.status, 2);
    assert.equal(process.attributes["error.type"], "BAD_FILTER");
    const consumer = kafka.consumer({ groupId: unique("reader") });
    after(() => consumer.disconnect());
    await consumer.subscribe({ topics: [deadLetterTopic], fromBeginning: true });
    const traceparents: (string | undefined)[] = [];
    await consumer.run({
      eachMessage: ({ message }) => {
        traceparents.push(getHeaderText(toLogRecord(message).headers, "traceparent"));
        return Promise.resolve();
      },
    });
    await until("the dead letter is written", () => traceparents.length > 0);
    assert.deepEqual(traceparents, [trace.traceparent]);
  });

  it("has a span for each sampled record of a batch, and the stages of twenty", async () => {
    const traces = Array.from({ length: 25 }, () => startTrace());
    const unsampled = startTrace({ sampled: false });
    const last = startTrace();
    const messages = [unsampled, ...traces].map((one) => announcement(unique("topic"), one.traceparent));
    await producer.send({ topic, messages });
    await producer.send({ topic, messages: [announcement(unique("topic"), last.traceparent)] });
    // It may be in the same batch; spans sent earlier were received earlier.
    await waitForSpans(last, 1);
    assert.deepEqual(findSpans(unsampled), []);
    const [shown, alone] = [traces.slice(0, 20), traces.slice(20)];
    for (const trace of shown)
      assert.deepEqual(
        findSpans(trace).map(({ name }) => name),
        [`process ${topic}`, ...stages],
      );
    const first = findSpans(traces[0] ?? last)[0];
    for (const trace of alone) {
      const [process, ...others] = findSpans(trace);
      assert.equal(process?.parentSpanId, trace.spanId);
      assert.deepEqual(process.links, [{ traceId: first?.traceId, spanId: first?.spanId }]);
      assert.deepEqual(others, []);
    }
  });

  it("also covers push feedback", async () => {
    const { traceId, traceparent } = startTrace();
    await producer.send({ topic: feedbackTopic, messages: [{ value: "no JSON", headers: { traceparent } }] });
    const spans = await waitForSpans({ traceId }, 5);
    assert.deepEqual(
      spans.map(({ name, attributes }) => [name, attributes["error.type"]]),
      [[`process ${feedbackTopic}`, "MALFORMED_JSON"], ...stages.map((name) => [name, undefined])],
    );
  });
});

describe("the trace of an event", () => {
  it("covers its way through the router, with the code if it cannot be forwarded", async () => {
    const [forwarded, rejected] = [startTrace(), startTrace()];
    await producer.send({
      topic: eventsTopic,
      messages: [
        { value: JSON.stringify({ eventType: "E" }), headers: { traceparent: forwarded.traceparent } },
        { value: "no JSON", headers: { traceparent: rejected.traceparent } },
      ],
    });
    const spans = await waitForSpans(forwarded, 5);
    assert.deepEqual(spans.map(({ name }) => name).sort(), [...stages, `process ${eventsTopic}`].sort());
    const failed = (await waitForSpans(rejected, 1)).find(
      ({ parentSpanId }) => parentSpanId === rejected.spanId,
    );
    assert.equal(failed?.attributes["error.type"], "MALFORMED_JSON");
  });
});

describe("the trace of a request", () => {
  const path = "/api/svc_api_notif_mgmt/v1/topic";

  it("is one span with route and status, a child of the caller's", async () => {
    const trace = startTrace();
    const externalId = unique("topic");
    const requestId = unique("request");
    const headers = { traceparent: trace.traceparent, "X-Request-Id": requestId };
    assert.equal(
      (await call(service.url + path, { body: { name: externalId, externalId }, headers })).status,
      201,
    );
    const [span, ...others] = await waitForSpans(trace, 1);
    assert.deepEqual(others, []);
    assert.equal(span?.name, `POST ${path}`);
    assert.equal(span.parentSpanId, trace.spanId);
    assert.equal(span.kind, 2);
    assert.equal(span.status, 0);
    assert.deepEqual(span.attributes, {
      "http.request.method": "POST",
      "http.route": path,
      "http.response.status_code": 201,
      "url.path": path,
      "url.scheme": "http",
      "network.protocol.version": "1.1",
      "topicsync.request.id": requestId,
    });
  });

  it("has the path template, the error code, and no query", async () => {
    const trace = startTrace();
    await call(`${service.url}/api/now/push/None/installation?secret=1`, {
      body: { platform: "ios", token: unique("token") },
      headers: { traceparent: trace.traceparent },
    });
    const [span] = await waitForSpans(trace, 1);
    assert.equal(span?.name, "POST /api/now/push/{application}/installation");
    assert.equal(span.attributes["url.path"], "/api/now/push/None/installation");
    assert.equal(span.attributes["http.response.status_code"], 400);
    assert.equal(span.attributes["topicsync.code"], "UNKNOWN_APPLICATION");
    // A client error is not an error of the service.
    assert.equal(span.status, 0);
  });

  it("starts here without a caller's span, but not for probes or if the caller's is not sampled", async () => {
    const [probe, unsampled, last] = [startTrace(), startTrace({ sampled: false }), startTrace()];
    const get = (where: string, headers = {}) => call(service.url + where, { method: "GET", headers });
    for (const where of ["/healthz", "/readyz", "/metrics"])
      await get(where, { traceparent: probe.traceparent });
    await get("/nothing", { traceparent: unsampled.traceparent });
    const requestId = unique("request");
    await get("/nothing", { "X-Request-Id": requestId });
    await get("/nothing", { traceparent: last.traceparent });
    await waitForSpans(last, 1);
    assert.deepEqual([...findSpans(probe), ...findSpans(unsampled)], []);
    const own = receiver.spans.filter(({ attributes }) => attributes["topicsync.request.id"] === requestId);
    assert.deepEqual(
      own.map(({ name, parentSpanId, attributes }) => [
        name,
        parentSpanId,
        attributes["http.response.status_code"],
      ]),
      [["GET", "", 404]],
    );
  });
});

describe("traces", () => {
  it("that cannot be sent disturb nothing, and are logged at most once a minute", async () => {
    receiver.close();
    const get = () => call(`${service.url}/nothing`, { method: "GET" });
    const warnings = () => service.log.filter(({ msg }) => msg === "trace export failed");
    assert.equal((await get()).status, 404);
    await until("a warning is logged", () => warnings().length > 0);
    assert.equal((await get()).status, 404);
    assert.equal(await service.stop(), 0);
    assert.equal(warnings().length, 1);
    assert.deepEqual(
      service.log.filter(({ level }) => level > 40),
      [],
    );
    assert.ok(traced.packages().includes("@opentelemetry/sdk-trace"));
  });

  it("are flushed before the service exits", async () => {
    const late = await startReceiver();
    const other = await startTopicsync({
      ...settings,
      ...ownNames(),
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${late.url}/v1/traces`,
      OTEL_BSP_SCHEDULE_DELAY: "600000",
    });
    await call(`${other.url}/nothing`, { method: "GET" });
    assert.deepEqual(late.spans, []);
    assert.equal(await other.stop(), 0);
    assert.deepEqual(
      late.spans.map(({ name, resource }) => [name, resource["service.name"]]),
      [["GET", "topicsync"]],
    );
  });

  it("are off by default, without loading the OpenTelemetry SDK", async () => {
    const off = recordModules("off");
    const silent = await startTopicsync({ ...settings, ...ownNames(), ...off.settings });
    const { traceparent } = startTrace();
    await call(`${silent.url}/nothing`, { method: "GET", headers: { traceparent } });
    assert.equal(await silent.stop(), 0);
    // The metrics library depends on the API package, which does nothing without an SDK.
    assert.deepEqual(off.packages(), ["@opentelemetry/api"]);
  });
});
