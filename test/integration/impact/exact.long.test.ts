/**
 * The counts of `topics impact` against an evaluator and a decoder that share no code with the service, over
 * events in every envelope and codec, some in transactions that were aborted, some not events.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { RejectionError } from "@topicsync/lib/errors";
import type { ImpactResult } from "../../../schemas/impact.ts";
import { nameRecord, readEvents } from "../../../src/service/impact/read-events.ts";
import { Backtest } from "../../../src/plans/impact/backtest.ts";
import { ImpactCounts } from "../../../src/plans/impact/counts.ts";
import { connectBroker } from "../../support/broker.ts";
import { useFolder } from "../../support/folder.ts";
import { createKafkaTopics, waitForTransactions } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { chooseSeed, createRandom } from "../../support/random.ts";
import { runCli } from "../../support/service.ts";
import { sharedStack, testDatabase, testKafka } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";
import { decodeEventForModel, decodeForModel } from "../chaos/decoder.ts";
import { createEventGenerator } from "../chaos/events/generator.ts";
import { createEventTest, createValueFinder, type EventTest } from "../chaos/events/matching.ts";
import { createTopicGenerator } from "../chaos/events/topics.ts";
import { popularType, unwantedType } from "../chaos/events/vocabulary.ts";
import { connectKafka, readLog, type LogEntry } from "../chaos/log.ts";
import { createInputProducer } from "../chaos/producer.ts";

const { seed, hint } = chooseSeed("IMPACT_SEED");
const random = createRandom(seed);
const partitions = 3;
const eventCount = Number(process.env["IMPACT_EVENTS"] ?? 4_000);
const eventsPerRequest = 150;
const topicCount = 200;

const { mongodb, kafka: brokers } = sharedStack();
const { admin } = testKafka(brokers);
const { uri, db } = testDatabase(mongodb);
const broker = await connectBroker();
const folder = useFolder();
const kafkaTopic = unique("events");
const settings = { MONGODB_URI: uri, KAFKA_BROKERS: brokers, KAFKA_EVENTS_TOPIC: kafkaTopic };

interface Definition {
  readonly externalId: string;
  readonly headerQuery: string;
  readonly contentQuery: string;
}

/** Random definitions with these external ids. */
function createDefinitions(externalIds: readonly string[]): Definition[] {
  const generated = createTopicGenerator(random.fork(), { topics: externalIds.length, partitions: 1 });
  return generated.createAll().map(({ key, value, headers }, at) => {
    const decoded = decodeForModel({ offset: at, key, value, headers });
    assert.ok(decoded.kind === "define");
    const { headerQuery, contentQuery } = decoded.definition;
    return { externalId: externalIds[at] ?? "", headerQuery, contentQuery };
  });
}

const ids = Array.from({ length: topicCount }, (_, at) => `t${at}`);
const stored = createDefinitions(ids.slice(0, -10));
/** Some stay as they are, and ten are new. */
const proposed = createDefinitions(ids).map((one, at) => (at % 20 === 0 ? (stored[at] ?? one) : one));
/** Two random definitions may have the same filters. */
const changedIds = proposed
  .filter(({ headerQuery, contentQuery }, at) => {
    const before = stored[at];
    return before?.headerQuery !== headerQuery || before.contentQuery !== contentQuery;
  })
  .map(({ externalId }) => externalId);
const file = join(folder.path, "topics.ndjson");
const entries: LogEntry[] = [];
let sentTransactions = 0;
const source = { kafka: broker, topic: kafkaTopic, maxEventBytes: 1_048_576, proofKey: undefined };
/** More than there are. */
const selection = { last: 10 * eventCount };
const { signal: never } = new AbortController();

before(async () => {
  await admin.connect();
  await createKafkaTopics(admin, {
    topic: kafkaTopic,
    numPartitions: partitions,
    // Some timestamps are far off.
    configEntries: [{ name: "message.timestamp.after.max.ms", value: "9223372036854775807" }],
  });
  const kafka = connectKafka(brokers);
  const producer = await createInputProducer(
    kafka,
    {
      topic: kafkaTopic,
      createHarmfulValue: (index, padding) =>
        JSON.stringify({ eventId: `aborted ${index}`, eventType: popularType, event: { padding } }),
      last: { key: null, value: JSON.stringify({ eventType: unwantedType }) },
    },
    random.fork(),
  );
  after(() => producer.close());
  const generator = createEventGenerator(random.fork(), {
    topics: topicCount,
    countPartitions: () => partitions,
  });
  for (let sent = 0; sent < eventCount; sent += eventsPerRequest)
    await producer.send(generator.take(eventsPerRequest), () => undefined);
  sentTransactions = producer.requests.get("transactions") ?? 0;
  const ends = await producer.sendLast(partitions);
  await waitForTransactions(broker, kafkaTopic);
  await readLog(
    kafka,
    { topic: kafkaTopic, ends: new Map([...ends].map(([partition, offset]) => [partition, offset + 1])) },
    (entry) => entries.push(entry),
  );
  await db
    .collection<{ _id: string }>("svc_api_notif_mgmt_topic")
    .insertMany(stored.map((one) => createTopicRecord(one)));
  const lines = proposed.map((one) => JSON.stringify({ ...one, name: one.externalId }));
  writeFileSync(file, `${lines.join("\n")}\n`);
});

async function preview(...args: string[]): Promise<{ output: string; result: ImpactResult }> {
  const { code, output, errors } = await runCli(["topics", "impact", file, "--json", ...args], settings);
  assert.equal(code, 0, errors);
  return { output, result: JSON.parse(output) as ImpactResult };
}

/** The counts over the records within what a result names. */
function evaluate({ read }: ImpactResult) {
  const ranges = new Map(read.partitions.map((one) => [one.partition, one]));
  const within = entries.filter(({ partition, offset }) => {
    const { from = 0, to = 0 } = ranges.get(partition) ?? {};
    return offset >= from && offset < to;
  });
  const rejected: Record<string, number> = {};
  const tests = new Map<string, { before: EventTest; after: EventTest }>();
  const never: EventTest = () => false;
  for (const [at, one] of proposed.entries()) {
    const old = stored[at];
    tests.set(one.externalId, { before: old ? createEventTest(old) : never, after: createEventTest(one) });
  }
  const counts = new Map(changedIds.map((id) => [id, { newly: 0, noLonger: 0, still: 0 }]));
  for (const entry of within) {
    const decoded = decodeEventForModel(entry);
    if ("code" in decoded) {
      rejected[decoded.code] = (rejected[decoded.code] ?? 0) + 1;
      continue;
    }
    const find = createValueFinder(decoded.event);
    for (const [id, count] of counts) {
      const test = tests.get(id);
      const [was, is] = [test?.before(find) === true, test?.after(find) === true];
      if (was && is) count.still += 1;
      else if (is) count.newly += 1;
      else if (was) count.noLonger += 1;
    }
  }
  return { records: within.length, rejected, counts };
}

function assertExact(result: ImpactResult): void {
  const expected = evaluate(result);
  const { records, events, rejected } = result.read;
  assert.deepEqual({ records, rejected }, { records: expected.records, rejected: expected.rejected });
  assert.equal(events, records - Object.values(rejected).reduce((sum, count) => sum + count, 0));
  assert.deepEqual(
    result.topics.map(({ externalId, newly, noLonger, still }) => [externalId, { newly, noLonger, still }]),
    [...expected.counts],
    hint,
  );
}

describe("topicsync topics impact", () => {
  it("counts exactly what an independent evaluator counts", async () => {
    const { result } = await preview("--last", String(selection.last));
    assert.equal(result.complete, true);
    assert.deepEqual(
      result.topics.map(({ externalId }) => externalId),
      changedIds,
      hint,
    );
    assert.equal(result.read.records, entries.length);
    assertExact(result);
    const { newly, noLonger, still } = result.total;
    assert.ok(newly > 0 && noLonger > 0 && still > 0, `${JSON.stringify(result.total)} (${hint})`);
    // The end of a transaction takes an offset in each partition that it wrote to.
    assert.ok(result.read.withoutRecord >= sentTransactions, hint);
    assert.ok(Object.keys(result.read.rejected).length > 1, hint);
  });

  it("reads the last records only, exactly as many offsets, and names them", async () => {
    for (const count of [1, 500, 1_777]) {
      const { result } = await preview("--last", String(count));
      const offsets = result.read.partitions.reduce((sum, { from, to }) => sum + to - from, 0);
      assert.equal(offsets, count, hint);
      assert.equal(result.read.records + result.read.withoutRecord, count);
      assertExact(result);
    }
  });

  it("prints identical JSON for the offsets that a result names", async () => {
    const { output, result } = await preview("--last", "900", "--examples", "5");
    const ranges = result.read.partitions.map(({ partition, from, to }) => `${partition}:${from}-${to}`);
    const again = await preview("--offsets", ranges.toReversed().join(","), "--examples", "5");
    assert.equal(again.output, output);
  });

  it("is exact for what was read until the time was over", async () => {
    const deadline = new AbortController();
    const changes = proposed
      .filter(({ externalId }) => changedIds.includes(externalId))
      .map((after) => ({
        externalId: after.externalId,
        before: stored.find(({ externalId }) => externalId === after.externalId),
        after,
      }));
    const counts = new ImpactCounts(changes, { maxExamples: 0, nameEvent: nameRecord(kafkaTopic) });
    const read = await readEvents(source, counts, {
      ...{ selection, abort: never },
      deadline: { signal: deadline.signal, hasPassed: () => deadline.signal.aborted },
      onProgress: (done) => {
        if (done > 1_000) deadline.abort();
      },
    });
    const result = counts.toResult(read);
    assert.equal(result.complete, false);
    assert.ok(result.read.records > 0 && result.read.records < entries.length);
    assertExact(result);
  });

  it("ends at once where everything was to be read, but the time was over", async () => {
    const result = await readEvents(source, new Backtest(), {
      ...{ selection, abort: never },
      deadline: { signal: AbortSignal.abort(), hasPassed: () => true },
      onProgress: () => undefined,
    });
    assert.deepEqual([result.complete, result.read.records], [false, 0]);
    assert.ok(result.read.partitions.every(({ from, to }) => from === to));
  });

  it("rejects a selection of more records than are to be read", async () => {
    const reading = readEvents(source, new Backtest(), {
      ...{ selection, abort: never, maxOffsets: 100 },
      onProgress: () => undefined,
    });
    await assert.rejects(reading, (error: unknown) => {
      assert.ok(error instanceof RejectionError);
      assert.match(
        error.details[0]?.message ?? "",
        /^selects \d+ records, more than 100: choose a shorter time/,
      );
      return true;
    });
  });

  it("gives examples with the conditions that decide", async () => {
    const { result } = await preview();
    for (const { newly, noLonger, examples, change } of result.topics) {
      assert.equal(examples.newly.length, Math.min(3, newly));
      assert.equal(examples.noLonger.length, Math.min(3, noLonger));
      for (const [side, version] of [
        [examples.newly, "before"],
        [examples.noLonger, "after"],
      ] as const)
        for (const { event, decidedBy } of side) {
          assert.match(event, new RegExp(`^${kafkaTopic}-[0-2]-\\d+$`));
          if (change === "created") assert.ok(decidedBy.every(({ held }) => held));
          else {
            assert.ok(decidedBy.length > 0);
            assert.ok(decidedBy.every((one) => !one.held && one.version === version));
          }
        }
    }
  });
});
