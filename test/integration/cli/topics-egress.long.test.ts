import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { admin, scene } = stage();

/** Stored topics, and the command for them. */
function createScene(...externalIds: readonly string[]) {
  const prefix = unique("to");
  const { settings, db } = scene();
  const stored = db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
  const insert = (ids: readonly string[]) =>
    stored.insertMany(ids.map((externalId) => createTopicRecord({ externalId })));
  return {
    prefix,
    insert: () => insert(externalIds),
    run: (args: readonly string[] = [], more: Readonly<Record<string, string>> = {}) => {
      const router = { KAFKA_EVENTS_TOPIC: `${prefix}.events`, KAFKA_EGRESS_TOPIC: `${prefix}.{externalId}` };
      return runCli(["topics", "egress", ...args], { ...settings, ...router, ...more });
    },
  };
}

const parse = (output: string) =>
  (parseNdjson(output) as Record<string, string>[]).toSorted((a, b) =>
    String(a["egressTopic"]).localeCompare(String(b["egressTopic"])),
  );

describe("topicsync topics egress", () => {
  it("lists missing Kafka topics, illegal names, and Kafka topics without a stored topic", async () => {
    const { prefix, insert, run } = createScene("a", "b", "not legal");
    await insert();
    await createKafkaTopics(
      admin,
      ...["b", "old", "events"].map((name) => ({ topic: `${prefix}.${name}`, numPartitions: 1 })),
    );
    const { code, output, errors } = await run(["--json"]);
    assert.equal(code, 3, errors);
    assert.deepEqual(parse(output), [
      { egressTopic: `${prefix}.a`, state: "missing", externalId: "a" },
      {
        egressTopic: `${prefix}.not legal`,
        state: "misnamed",
        externalId: "not legal",
        reason: `"${prefix}.not legal" is not a valid Kafka topic name: it must have 1 to 249 letters, digits, dots, underscores and hyphens`,
      },
      { egressTopic: `${prefix}.old`, state: "unused" },
    ]);
    const table = await run();
    assert.equal(table.code, 3, table.errors);
    assert.match(table.output, /^state +kafka topic +external id +reason\n/);
    assert.match(table.output, new RegExp(`missing +${prefix}\\.a +a\n`));
    assert.match(table.output, /1 missing/);
  });

  it("creates missing Kafka topics, as many partitions each as configured", async () => {
    const ids = Array.from({ length: 201 }, (_, n) => `id-${n}`);
    const { prefix, insert, run } = createScene(...ids);
    await insert();
    await createKafkaTopics(admin, { topic: `${prefix}.id-7`, numPartitions: 1 });
    const partitions = { KAFKA_EGRESS_PARTITIONS: "2" };
    const { code, output, errors } = await run(["--create"], partitions);
    assert.deepEqual([code, output], [0, "Kafka topics: 200 created\n"], errors);
    const { topics } = await until("all are in the metadata", () =>
      admin.fetchTopicMetadata({ topics: ids.map((id) => `${prefix}.${id}`) }),
    );
    assert.deepEqual(
      topics.filter(({ partitions }) => partitions.length !== 2).map(({ name }) => name),
      [`${prefix}.id-7`],
    );
    const again = await run(["--create"], partitions);
    assert.deepEqual([again.code, again.output], [0, "Every topic has its Kafka topic.\n"], again.errors);
  });

  it("reports Kafka topics that the broker refuses to create", async () => {
    const { prefix, insert, run } = createScene("a");
    await insert();
    const { code, output } = await run(["--create", "--json"], { KAFKA_EGRESS_REPLICATION: "99" });
    assert.equal(code, 3);
    const [{ reason, ...finding } = {}, ...others] = parse(output);
    assert.deepEqual(
      [finding, others],
      [{ egressTopic: `${prefix}.a`, state: "failed", externalId: "a" }, []],
    );
    assert.match(reason ?? "", /it cannot be created: .*[Rr]eplication/);
  });

  it("lists one Kafka topic for all topics once", async () => {
    const { prefix, insert, run } = createScene("a", "b");
    await insert();
    const { code, output } = await run(["--json"], { KAFKA_EGRESS_TOPIC: prefix });
    assert.equal(code, 3);
    assert.deepEqual(
      parse(output).map(({ egressTopic, state }) => [egressTopic, state]),
      [[prefix, "missing"]],
    );
  });

  it("exits with 78 when no router is configured", async () => {
    const { code, errors } = await createScene().run([], { KAFKA_EVENTS_TOPIC: "" });
    assert.equal(code, 78);
    assert.match(errors, /KAFKA_EVENTS_TOPIC is not set/);
  });
});
