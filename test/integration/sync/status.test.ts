import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { createValidator } from "@topicsync/lib/validation";
import { syncStatusSchema, type SyncStatus } from "../../../schemas/sync-status.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { getMetric, stage } from "../../support/scene.ts";
import type { TestService } from "../../support/service.ts";

const { producer, scene } = stage();
const { topic, createTopic, start, key } = scene();
const check = createValidator<SyncStatus>(syncStatusSchema);
let service: TestService;

before(async () => {
  await createTopic(2);
  service = await start();
});

const send = (partition: number, ...values: (object | string | null)[]) =>
  producer.send({
    topic,
    messages: values.map((value) => ({
      partition,
      value: typeof value === "string" || value === null ? value : JSON.stringify(value),
    })),
  });

async function getStatus(): Promise<SyncStatus> {
  const { status: code, json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET" });
  assert.equal(code, 200);
  const checked = check(json);
  assert.ok(checked.ok, JSON.stringify(checked));
  return checked.value;
}

const waitForSync = () =>
  until("every announcement is applied", async () => {
    const found = await getStatus();
    return found.partitions.every(({ lagRecords }) => lagRecords === 0) && found;
  });

const metric = (name: string) => getMetric(service, name);

describe("GET /api/topicsync/v1/sync", () => {
  it("returns the position of each partition and the outcomes of the announcements", async () => {
    const body = { externalId: unique("id"), name: unique("name") };
    await send(0, body, body, { ...body, name: unique("other") }, "no JSON", null, { more: 1 }, "no JSON");
    const { group, consumer, counts, partitions, problems } = await waitForSync();
    assert.equal(group, key.group);
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

  it("needs a user, and allows only GET", async () => {
    const url = `${service.url}/api/topicsync/v1/sync`;
    assert.equal((await call(url, { method: "GET", as: undefined })).status, 401);
    assert.equal((await call(url)).status, 405);
  });

  it("names the other members of the group and their partitions", async () => {
    const other = await start();
    const shared = await until("the partitions are assigned", async () => {
      const { partitions } = await getStatus();
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
  it("returns the same values, with histograms and the metrics of the process", async () => {
    await send(1, { externalId: unique("id"), name: unique("name") });
    await waitForSync();
    const labels = `consumer="announcements",topic="${topic}",partition="1"`;
    assert.equal(await metric(`topicsync_partition_committed_offset{${labels}}`), 1);
    assert.equal(await metric(`topicsync_partition_log_end_offset{${labels}}`), 1);
    assert.equal(await metric(`topicsync_partition_lag_records{${labels}}`), 0);
    assert.equal(await metric(`topicsync_partition_lag_seconds{${labels}}`), 0);
    // After the other member left, the partitions are assigned again, and the positions looked up.
    await until(
      "the partition is assigned and read",
      async () =>
        (await metric(`topicsync_partition_assigned{${labels}}`)) === 1 &&
        (await metric(`topicsync_partition_paused{${labels}}`)) === 0,
    );
    assert.equal(await metric(`topicsync_ready{check="consumer"}`), 1);
    assert.equal(await metric(`topicsync_rejections_total{code="MALFORMED_JSON"}`), 2);
    assert.equal(await metric(`topicsync_announcements_total{outcome="created"}`), 2);
    assert.equal(await metric(`topicsync_announcement_delay_seconds_count`), 8);
    assert.ok((await metric("topicsync_batch_write_duration_seconds_count")) > 0);
    assert.equal(await metric("topicsync_batch_announcements_sum"), 8);
    assert.ok((await metric("process_resident_memory_bytes")) > 0);
  });
});
