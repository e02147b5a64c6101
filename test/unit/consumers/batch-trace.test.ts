import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import { FencedError, type LogRecord } from "@topicsync/kafka";
import type { Span, Tracing } from "@topicsync/lib/tracing";
import { noTrace, traceBatch } from "../../../consumers/batch-trace.ts";

const sampled = "sampled";
const record = (offset: number, traceparent?: string | Buffer): LogRecord => ({
  offset,
  timestamp: "0",
  key: null,
  value: null,
  headers: traceparent === undefined ? [] : [["traceparent", traceparent]],
});

/** Records the spans. A `traceparent` is the id of its trace, which is sampled if the id says so. */
function createMemoryTracing() {
  const spans: Span[] = [];
  const tracing: Tracing = {
    extractContext(header) {
      const traceId = header("traceparent");
      return traceId === undefined
        ? undefined
        : { traceId, spanId: "sender", traceFlags: Number(traceId === sampled) };
    },
    record: (span) => ({
      traceId: span.parent?.traceId ?? "",
      spanId: String(spans.push(span)),
      traceFlags: 1,
    }),
    close: () => Promise.resolve(),
  };
  return { spans, tracing };
}

const begin = (tracing: Tracing, ...records: LogRecord[]) =>
  traceBatch(tracing, { partition: { topic: "topic", partition: 0 }, groupId: "group", records });

describe("the trace of a batch", () => {
  it("exists only if one of its records is traced", () => {
    const { tracing } = createMemoryTracing();
    assert.equal(begin(tracing), noTrace);
    assert.equal(begin(tracing, record(1), record(2, "not wanted")), noTrace);
    assert.notEqual(begin(tracing, record(1), record(2, Buffer.from(sampled))), noTrace);
    assert.equal(
      traceBatch(undefined, { partition: { topic: "", partition: 0 }, groupId: "", records: [] }),
      noTrace,
    );
  });

  for (const [error, code] of [
    [new UnavailableError("away"), "UNAVAILABLE"],
    [new FencedError("moved"), "FENCED"],
    [new TypeError("unforeseen"), "INTERNAL"],
  ] as const) {
    it(`marks its records and its last stage as failed: ${code}`, async () => {
      const { spans, tracing } = createMemoryTracing();
      const trace = begin(tracing, record(1, sampled), record(2));
      trace.startStage("decode");
      trace.endStage();
      trace.startStage("decide");
      trace.startStage("write");
      const applying = trace.run(() => Promise.reject<{ rejections: [] }>(error));
      await assert.rejects(applying, error);
      assert.deepEqual(
        spans.map((span) => [span.name, span.parent?.spanId, span.error]),
        [
          ["process topic", "sender", code],
          ["decode", "1", undefined],
          ["decide", "1", undefined],
          ["write", "1", code],
        ],
      );
    });
  }
});
