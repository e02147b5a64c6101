import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { FetchedPart, LogBounds, LogRecord } from "@topicsync/kafka";
import { readConfig } from "../../../src/config/config.ts";
import { createSampleReader, type SampleSource } from "../../../src/service/event-sample.ts";

const config = readConfig({ KAFKA_EVENTS_TOPIC: "events", KAFKA_EGRESS_TOPIC: "egress" });
const limits = { events: 100, bytes: 1_000_000, readMs: 60_000 };
const mark = "x".repeat(100);

const createRecord = (partition: number, offset: number): LogRecord => ({
  ...{ offset, timestamp: String(offset), key: null, headers: [] },
  value: Buffer.from(JSON.stringify({ eventType: `p${partition}`, event: { mark } })),
});

/** A Kafka topic with such records, in parts of ten. */
function createSource(bounds: Record<number, LogBounds>, change = (record: LogRecord) => record) {
  const ranges: unknown[] = [];
  const source: SampleSource = {
    fetchBounds: () =>
      Promise.resolve(
        new Map(Object.entries(bounds).map(([partition, one]) => [Number(partition), one] as const)),
      ),
    async *readRanges(_topic, selected): AsyncGenerator<FetchedPart> {
      for (const { partition, from, to } of selected.ranges) {
        ranges.push([partition, from, to]);
        for (let start = from; start < to; start += 10) {
          await Promise.resolve();
          const records = Array.from({ length: Math.min(10, to - start) }, (_, n) =>
            change(createRecord(partition, start + n)),
          );
          yield { partition, records, end: start + records.length };
        }
      }
    },
  };
  return { ranges, source };
}

function read(source: SampleSource, changed: Partial<typeof limits> = {}, abort = new AbortController()) {
  const options = { config, broker: () => Promise.resolve(source), abort: abort.signal };
  const reader = createSampleReader(options, { ...limits, ...changed });
  assert.ok(reader !== undefined);
  return reader();
}

describe("reading the last events", () => {
  it("takes the same number of each partition, and more where others have fewer", async () => {
    const { source, ranges } = createSource({
      0: { low: 0, high: 1_000 },
      1: { low: 40, high: 50 },
      2: { low: 500, high: 520 },
      3: { low: 7, high: 7 },
      4: { low: 900, high: 2_000 },
    });
    const sample = await read(source);
    assert.deepEqual(ranges, [
      [3, 7, 7],
      [1, 40, 50],
      [2, 500, 520],
      [0, 965, 1_000],
      [4, 1_965, 2_000],
    ]);
    assert.equal(sample.events, 100);
    assert.deepEqual([sample.from?.getTime(), sample.to?.getTime()], [40, 1_999]);
    assert.deepEqual(
      sample.types.map(({ name, events }) => [name, events]),
      [
        ["p0", 35],
        ["p4", 35],
        ["p2", 20],
        ["p1", 10],
      ],
    );
  });

  it("counts what is not an event, and opens envelopes as the router does", async () => {
    const event = { eventType: "wrapped", event: {} };
    const cloudEvent = { specversion: "1.0", id: "1", source: "s", type: "t", data: event };
    const values = ["no JSON", "{}", JSON.stringify(cloudEvent), "[]"];
    const { source } = createSource({ 0: { low: 0, high: 4 } }, (record) => ({
      ...record,
      value: Buffer.from(values[record.offset] ?? ""),
    }));
    const { events, rejected, types } = await read(source);
    assert.deepEqual([events, rejected, types.map(({ name }) => name)], [1, 3, ["wrapped"]]);
  });

  it("ends at the limit of bytes", async () => {
    const { source } = createSource({ 0: { low: 0, high: 1_000 } });
    const { events } = await read(source, { bytes: 2_000 });
    assert.ok(events > 5 && events < 20, `${events} events`);
  });

  it("ends after a time with what was read, and says if that is nothing", async () => {
    const { source } = createSource({ 0: { low: 0, high: 20 } });
    const stalling: SampleSource = {
      ...source,
      async *readRanges(topic, options) {
        for await (const part of source.readRanges(topic, options)) {
          yield part;
          await new Promise(() => undefined);
        }
      },
    };
    assert.equal((await read(stalling, { readMs: 50 })).events, 10);
    const silent: SampleSource = { ...source, fetchBounds: () => new Promise(() => undefined) };
    await assert.rejects(read(silent, { readMs: 50 }), /no records of events could be read within 0\.05 s/);
  });

  it("lets others go first", async () => {
    let turns = 0;
    let next: NodeJS.Immediate | undefined;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    count();
    const { source } = createSource({ 0: { low: 0, high: 20_000 } });
    const { events } = await read(source, { events: 20_000, bytes: Infinity });
    clearImmediate(next);
    assert.equal(events, 20_000);
    assert.ok(turns > 2, `${turns} turns`);
  });

  it("fails if there is no such Kafka topic, and reads none if none is configured", async () => {
    const { source } = createSource({});
    const missing: SampleSource = { ...source, fetchBounds: () => Promise.resolve(undefined) };
    await assert.rejects(read(missing), /there is no Kafka topic named "events"/);
    const options = { broker: () => Promise.resolve(source), abort: new AbortController().signal };
    assert.equal(createSampleReader({ ...options, config: readConfig({}) }), undefined);
  });
});
