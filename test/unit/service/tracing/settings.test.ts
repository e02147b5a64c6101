import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readTraceSettings } from "../../../../src/service/tracing/settings.ts";

describe("the OpenTelemetry variables", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
  const readExporters = (environment: Record<string, string>) => readTraceSettings(environment).exporters;

  it("enable traces by an endpoint or an exporter, and disable them", () => {
    assert.deepEqual(readExporters({}), []);
    assert.deepEqual(readExporters({ OTEL_SERVICE_NAME: "a", OTEL_EXPORTER_OTLP_ENDPOINT: "" }), []);
    assert.deepEqual(readExporters({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://127.0.0.1" }), []);
    assert.deepEqual(readExporters(endpoint), ["otlp"]);
    assert.deepEqual(readExporters({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1" }), ["otlp"]);
    assert.deepEqual(readExporters({ OTEL_TRACES_EXPORTER: "otlp" }), ["otlp"]);
    assert.deepEqual(readExporters({ ...endpoint, OTEL_TRACES_EXPORTER: "console" }), ["console"]);
    assert.deepEqual(readExporters({ ...endpoint, OTEL_TRACES_EXPORTER: "none" }), []);
    assert.deepEqual(readExporters({ ...endpoint, OTEL_SDK_DISABLED: "True" }), []);
    assert.deepEqual(readExporters({ ...endpoint, OTEL_SDK_DISABLED: "false" }), ["otlp"]);
  });

  it("configure the sampler and the batches", () => {
    const given = readTraceSettings({
      ...endpoint,
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_BSP_MAX_QUEUE_SIZE: "10000",
    });
    assert.deepEqual(given.sampler, { parentBased: true, root: "traceidratio", ratio: 0.25 });
    assert.equal(given.batches.maxQueueSize, 10_000);
    assert.equal(given.batches.scheduledDelayMillis, undefined);
    assert.deepEqual(given.faults, []);
  });

  it("are ignored with a warning if they are invalid", () => {
    const {
      exporters: to,
      sampler,
      batches,
      faults,
    } = readTraceSettings({
      OTEL_TRACES_EXPORTER: "zipkin,otlp",
      OTEL_TRACES_SAMPLER: "constructor",
      OTEL_BSP_SCHEDULE_DELAY: "soon",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    });
    assert.deepEqual(to, ["otlp"]);
    assert.deepEqual(sampler, { parentBased: true, root: "always_on", ratio: 1 });
    assert.equal(batches.scheduledDelayMillis, undefined);
    assert.deepEqual(
      faults.map((fault) => /zipkin|constructor|SCHEDULE_DELAY|grpc/.exec(fault)?.[0]),
      ["zipkin", "constructor", "SCHEDULE_DELAY", "grpc"],
    );
    const ratio = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" };
    assert.equal(readTraceSettings(ratio).sampler.ratio, 1);
  });
});
