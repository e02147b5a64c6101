import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { ownNames, runCli, startTopicsync, type TestService } from "../../support/service.ts";
import { sharedStack, testDatabase, testKafka } from "../../support/stack.ts";

const stack = sharedStack();
const { uri, db } = testDatabase(stack.mongodb);
const names = ownNames();
const settings = { ...names, MONGODB_URI: uri, KAFKA_BROKERS: stack.kafka };
const topic = names["KAFKA_ANNOUNCEMENTS_TOPIC"] ?? "";
const { admin } = testKafka(stack.kafka);
const records = db.collection("svc_api_notif_mgmt_topic");
const folder = mkdtempSync(join(tmpdir(), "topicsync-announce-"));
after(() => {
  rmSync(folder, { recursive: true, force: true });
});
let service: TestService;

before(async () => {
  await admin.connect();
  await createKafkaTopics(admin, { topic, numPartitions: 3 });
  service = await startTopicsync(settings);
  await service.ready();
});

const definition = () => ({ externalId: unique("id"), name: unique("name") });

function createFile(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const toNdjson = (...bodies: object[]): string => bodies.map((body) => `${JSON.stringify(body)}\n`).join("");

async function readLogEnd(): Promise<number> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return offsets.reduce((sum, { high }) => sum + Number(high), 0);
}

describe("topicsync announce", () => {
  it("publishes NDJSON, arrays, single objects and standard input, and waits until they are stored", async () => {
    const bodies = Array.from({ length: 1_203 }, definition);
    const many = createFile("many.ndjson", toNdjson(...bodies.slice(0, 1_200)));
    const list = createFile("list.json", JSON.stringify(bodies.slice(1_200, 1_201), undefined, 2));
    const one = createFile("one.json", JSON.stringify(bodies[1_201], undefined, 2));
    const input = JSON.stringify(bodies[1_202]);
    const { code, output, errors } = await runCli(
      ["announce", "--wait", many, list, one, "-"],
      settings,
      input,
    );
    assert.equal(code, 0, errors);
    assert.match(output, /stored: 1203 of 1203/);
    assert.equal(
      await records.countDocuments({ topic_id: { $in: bodies.map(({ externalId }) => externalId) } }),
      1_203,
    );
  });

  it("lists the rejected definitions with the reasons and exits with 3", async () => {
    const [holder, other] = [definition(), definition()];
    const path = createFile("rejected.ndjson", toNdjson(holder, { ...other, name: holder.name }, other));
    // Keys of different partitions arrive in any order, so the existing topic is stored first.
    await runCli(["announce", "--wait", "-"], settings, JSON.stringify(holder));
    const { code, output, errors } = await runCli(["announce", "--wait", "--json", path], settings);
    assert.equal(code, 3, errors);
    const { announced, stored, rejected } = JSON.parse(output) as {
      announced: number;
      stored: number;
      rejected: { place: string; externalId: string; id: string; code: string; message: string }[];
    };
    const [first] = rejected;
    const counts = { announced, stored, rejected: rejected.length };
    assert.deepEqual(counts, { announced: 3, stored: 2, rejected: 1 });
    assert.equal(first?.place, `${path}:2`);
    assert.equal(first.code, "DUPLICATE_COMBINATION");
    assert.match(first.message, new RegExp(holder.externalId));
    const table = await runCli(["announce", "--wait", path], settings);
    assert.equal(table.code, 3);
    assert.match(table.output, /rejected\.ndjson:2.*DUPLICATE_COMBINATION/);
  });

  it("publishes nothing if a definition is invalid, and names file and line of every fault", async () => {
    const before = await readLogEnd();
    const path = createFile(
      "faulty.ndjson",
      `${JSON.stringify(definition())}\nno JSON\n\n{"name":"n","headerquery":""}\n[]\n{"name":"n","externalId":"e","contentQuery":"a=1;b=2"}\n`,
    );
    const { code, errors } = await runCli(["announce", path], settings);
    assert.equal(code, 3);
    assert.match(errors, /faulty\.ndjson:2: is not JSON/);
    assert.match(errors, /faulty\.ndjson:4: .*\/externalId is required.*did you mean headerQuery\?/);
    assert.match(errors, /faulty\.ndjson:5: .*must be an object/);
    assert.match(errors, /faulty\.ndjson:6: .*\/contentQuery has a ";".*at character 4/);
    assert.match(errors, /Nothing was announced/);
    assert.equal(await readLogEnd(), before);
  });

  it("names the right line even if the first one is malformed", async () => {
    const path = createFile("first.ndjson", `{"externalId":\n${toNdjson(definition())}`);
    const { code, errors } = await runCli(["announce", path], settings);
    assert.equal(code, 3);
    assert.match(errors, /first\.ndjson:1: is not JSON/);
  });

  it("accepts U+2028 within a string, and ignores a byte order mark", async () => {
    const body = { ...definition(), namespace: "one\u2028two\u2029three" };
    const path = createFile("separators.ndjson", `\uFEFF${toNdjson(definition(), body)}`);
    const { code, errors } = await runCli(["announce", "--wait", path], settings);
    assert.equal(code, 0, errors);
    assert.equal((await records.findOne({ topic_id: body.externalId }))?.["namespace"], body.namespace);
  });

  it("accepts an empty file, and reports a missing one", async () => {
    const empty = await runCli(["announce", "--wait", createFile("empty.ndjson", "")], settings);
    assert.equal(empty.code, 0, empty.errors);
    assert.match(empty.output, /stored: 0 of 0/);
    const none = await runCli(["announce", join(folder, "none.json")], settings);
    assert.equal(none.code, 1);
    assert.match(none.errors, /none\.json/);
    assert.equal((await runCli(["announce"], settings)).code, 64);
    assert.equal((await runCli(["announce", "-", "-"], settings)).code, 64);
  });

  it("does not wait without --wait", async () => {
    const body = definition();
    const { code, output } = await runCli(["announce", createFile("one.ndjson", toNdjson(body))], settings);
    assert.equal(code, 0);
    assert.match(output, new RegExp(`announced 1 definition to ${topic}`));
  });

  it("reports within a time limit that a broker does not answer", async () => {
    const { code, errors } = await runCli(["announce", createFile("x.ndjson", toNdjson(definition()))], {
      ...settings,
      KAFKA_BROKERS: "127.0.0.1:1",
    });
    assert.equal(code, 69);
    assert.match(errors, /Kafka at 127\.0\.0\.1:1 did not respond within 10 s: .*ECONNREFUSED/);
  });
});
