import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { syncStatusSchema, type SyncStatus } from "../../../schemas/sync-status.ts";
import { createValidator } from "../../../src/lib/validation.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { ownNames, startTopicsync, type TestService } from "../../support/service.ts";
import { sharedStack, testDatabase, testKafka } from "../../support/stack.ts";

const stack = sharedStack();
const { uri } = testDatabase(stack.mongodb);
const names = ownNames();
const settings = { ...names, MONGODB_URI: uri, KAFKA_BROKERS: stack.kafka };
const topic = names["KAFKA_ANNOUNCEMENTS_TOPIC"] ?? "";
const { admin, producer } = testKafka(stack.kafka);
const check = createValidator<SyncStatus>(syncStatusSchema);
let service: TestService;

before(async () => {
  await Promise.all([admin.connect(), producer.connect()]);
  await admin.createTopics({ topics: [{ topic, numPartitions: 2 }] });
  service = await startTopicsync(settings);
  await service.ready();
});

const send = (partition: number, ...values: (object | string | null)[]) =>
  producer.send({
    topic,
    messages: values.map((value) => ({
      partition,
      value: typeof value === "string" || value === null ? value : JSON.stringify(value),
    })),
  });

async function status(): Promise<SyncStatus> {
  const { status: code, json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET" });
  assert.equal(code, 200);
  const checked = check(json);
  assert.ok(checked.ok, JSON.stringify(checked));
  return checked.value;
}

const inStep = () =>
  until("the sync is in step", async () => {
    const found = await status();
    return found.partitions.every(({ lagRecords }) => lagRecords === 0) ? found : undefined;
  });

async function metric(name: string): Promise<number | undefined> {
  const { text } = await call(`${service.url}/metrics`, { method: "GET", as: undefined });
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}

describe("GET /api/topicsync/v1/sync", () => {
  it("tells where each partition stands, and what became of the announcements", async () => {
    const body = { externalId: unique("id"), name: unique("name") };
    await send(0, body, body, { ...body, name: unique("other") }, "no JSON", null, { more: 1 }, "no JSON");
    const { group, consumer, counts, partitions, problems } = await inStep();
    assert.equal(group, names["KAFKA_GROUP_ID"]);
    assert.equal(consumer, "assigned");
    assert.deepEqual(counts, {
      created: 1,
      updated: 1,
      adopted: 0,
      unchanged: 1,
      retired: 0,
      rejected: { MALFORMED_JSON: 2, MISSING_KEY: 1, SCHEMA_VIOLATION: 1 },
    });
    const reading = {
      logStart: 0,
      lagRecords: 0,
      lagSeconds: 0,
      openTransactionSeconds: 0,
      assigned: true,
      owner: "this process",
      state: "reading",
      reason: null,
      cause: null,
    };
    assert.deepEqual(partitions, [
      { ...reading, partition: 0, committedOffset: 7, logEnd: 7, lastStableOffset: 7 },
      { ...reading, partition: 1, committedOffset: null, logEnd: 0, lastStableOffset: 0 },
    ]);
    assert.deepEqual(problems, []);
  });

  it("needs a user, and knows only GET", async () => {
    const url = `${service.url}/api/topicsync/v1/sync`;
    assert.equal((await call(url, { method: "GET", as: undefined })).status, 401);
    assert.equal((await call(url)).status, 405);
  });

  it("names the other members of the group and their partitions", async () => {
    const other = await startTopicsync(settings);
    const shared = await until("the partitions are shared out", async () => {
      const { partitions } = await status();
      return partitions.filter(({ owner }) => owner === "this process").length === 1 &&
        partitions.every(({ assigned }) => assigned)
        ? partitions
        : undefined;
    });
    const elsewhere = shared.find(({ owner }) => owner !== "this process");
    assert.match(elsewhere?.owner ?? "", /^topicsync at .*127\.0\.0\.1/);
    assert.equal(elsewhere?.state, null);
    assert.equal(await other.stop(), 0);
  });
});

describe("GET /metrics", () => {
  it("shows the same to Prometheus, with histograms and the process's own", async () => {
    await send(1, { externalId: unique("id"), name: unique("name") });
    await inStep();
    const labels = `topic="${topic}",partition="1"`;
    assert.equal(await metric(`topicsync_partition_committed_offset{${labels}}`), 1);
    assert.equal(await metric(`topicsync_partition_log_end_offset{${labels}}`), 1);
    assert.equal(await metric(`topicsync_partition_lag_records{${labels}}`), 0);
    assert.equal(await metric(`topicsync_partition_lag_seconds{${labels}}`), 0);
    assert.equal(await metric(`topicsync_partition_assigned{${labels}}`), 1);
    // The position is looked up again after the other member left.
    await until("it reads", async () => (await metric(`topicsync_partition_paused{${labels}}`)) === 0);
    assert.equal(await metric(`topicsync_ready{check="consumer"}`), 1);
    assert.equal(await metric(`topicsync_rejections_total{code="MALFORMED_JSON"}`), 2);
    assert.equal(await metric(`topicsync_announcements_total{outcome="created"}`), 2);
    assert.equal(await metric(`topicsync_announcement_delay_seconds_count`), 8);
    assert.ok(((await metric("topicsync_batch_write_duration_seconds_count")) ?? 0) > 0);
    assert.ok(((await metric("topicsync_batch_announcements_sum")) ?? 0) === 8);
    assert.ok(((await metric("process_resident_memory_bytes")) ?? 0) > 0);
  });
});
