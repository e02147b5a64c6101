import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { bootstrap, ownNames, runCli, startTopicsync } from "../../support/service.ts";
import { sharedStack, testDatabase, testKafka } from "../../support/stack.ts";
import type { SyncStatus } from "../../../schemas/sync-status.ts";

const stack = sharedStack();
const { uri } = testDatabase(stack.mongodb);
const names = ownNames();
// Nothing listens on port 1, so no other service answers.
const settings = { ...names, MONGODB_URI: uri, KAFKA_BROKERS: stack.kafka, HTTP_PORT: "1" };
const topic = names["KAFKA_ANNOUNCEMENTS_TOPIC"] ?? "";
const { admin, producer } = testKafka(stack.kafka);

before(async () => {
  await Promise.all([admin.connect(), producer.connect()]);
  await createKafkaTopics(admin, { topic, numPartitions: 1 });
});

const announce = (count: number) =>
  producer.send({
    topic,
    messages: Array.from({ length: count }, () => {
      const externalId = unique("id");
      return { key: externalId, value: JSON.stringify({ externalId, name: externalId }) };
    }),
  });

async function readStatus(more: readonly string[] = [], input = ""): Promise<SyncStatus> {
  const { code, output, errors } = await runCli(["status", "--json", ...more], settings, input);
  assert.equal(code, 0, errors);
  return JSON.parse(output) as SyncStatus;
}

describe("topicsync status", () => {
  it("reads from Kafka and MongoDB when no service runs", async () => {
    await announce(3);
    const { consumer, counts, partitions, problems } = await readStatus();
    assert.deepEqual([consumer, counts], ["none", null]);
    assert.equal(partitions.length, 1);
    const [one] = partitions;
    assert.deepEqual(
      [one?.committedOffset, one?.logEnd, one?.lagRecords, one?.assigned, one?.owner, one?.state],
      [null, 3, 3, false, null, null],
    );
    assert.ok((one?.lagSeconds ?? 0) > 0);
    assert.match(
      problems[0] ?? "",
      /No service responds at http:\/\/127\.0\.0\.1:1 \(.*(ECONNREFUSED|bad port)/,
    );
    const { output } = await runCli(["status"], settings);
    assert.match(output, /3 announcements behind, the oldest for/);
    assert.match(output, /nobody/);
  });

  it("asks a running service, which also has counts", async () => {
    const service = await startTopicsync({ ...settings, HTTP_PORT: "0" });
    await service.ready();
    const as = ["--url", service.url, "--user", bootstrap.user];
    const { counts, partitions } = await until("the sync has caught up", async () => {
      const found = await readStatus(as, bootstrap.password);
      return found.partitions[0]?.lagRecords === 0 ? found : undefined;
    });
    assert.equal(counts?.created, 3);
    assert.deepEqual([partitions[0]?.owner, partitions[0]?.state], ["this process", "reading"]);
    const { output } = await runCli(["status", ...as], settings, bootstrap.password);
    assert.match(output, /The service at .* is ready/);
    assert.match(output, /in sync/);
    assert.match(output, /created 3, updated 0, adopted 0, unchanged 0, retired 0, rejected 0/);

    const without = await runCli(["status", "--url", service.url], settings);
    assert.match(without.output, /is ready\. Its counts require a login: see --user/);
    const wrong = await runCli(["status", ...as], settings, "wrong");
    assert.match(wrong.output, /It responded with 401 to the user bootstrap/);
    assert.match(wrong.output, /topicsync at .*127\.0\.0\.1/);
    assert.equal(await service.stop(), 0);
  });

  it("shows the rest when MongoDB or Kafka is down", async () => {
    const noStore = await runCli(["status"], { ...settings, MONGODB_URI: "mongodb://127.0.0.1:1/x" });
    assert.equal(noStore.code, 0, noStore.errors);
    assert.match(noStore.output, /partly unknown/);
    assert.match(noStore.output, /Unknown: the positions: no response within 3 s/);
    const noBroker = await runCli(["status"], { ...settings, KAFKA_BROKERS: "127.0.0.1:1" });
    assert.equal(noBroker.code, 0, noBroker.errors);
    assert.match(noBroker.output, /Unknown: the log: no response within 3 s/);
  });
});
