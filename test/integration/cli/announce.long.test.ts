import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { useFolder } from "../../support/folder.ts";
import { unique } from "../../support/names.ts";
import { toNdjson } from "../../support/ndjson.ts";
import { impatient } from "../../support/patience.ts";
import { definition, stage } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";

const { admin, scene } = stage();
const own = scene();
const { settings, topic } = own;
const records = own.db.collection("svc_api_notif_mgmt_topic");
const folder = useFolder();

before(async () => {
  await own.createTopic(3);
  await own.start();
});

const createDefinition = () => definition(unique("id"));

async function readLogEnd(): Promise<number> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return offsets.reduce((sum, { high }) => sum + Number(high), 0);
}

describe("topicsync announce", () => {
  it("publishes NDJSON, arrays, single objects and standard input, and waits until they are stored", async () => {
    const bodies = Array.from({ length: 1_203 }, createDefinition);
    const many = folder.createFile("many.ndjson", toNdjson(...bodies.slice(0, 1_200)));
    const list = folder.createFile("list.json", JSON.stringify(bodies.slice(1_200, 1_201), undefined, 2));
    const one = folder.createFile("one.json", JSON.stringify(bodies[1_201], undefined, 2));
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
    const [holder, other] = [createDefinition(), createDefinition()];
    const path = folder.createFile(
      "rejected.ndjson",
      toNdjson(holder, { ...holder, externalId: other.externalId }, other),
    );
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
    const path = folder.createFile(
      "faulty.ndjson",
      `${JSON.stringify(createDefinition())}\nno JSON\n\n{"name":"n","headerquery":""}\n[]\n{"name":"n","externalId":"e","contentQuery":"a=1;b=2"}\n`,
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
    const path = folder.createFile("first.ndjson", `{"externalId":\n${toNdjson(createDefinition())}`);
    const { code, errors } = await runCli(["announce", path], settings);
    assert.equal(code, 3);
    assert.match(errors, /first\.ndjson:1: is not JSON/);
  });

  it("accepts U+2028 within a string, and ignores a byte order mark", async () => {
    const body = { ...createDefinition(), namespace: "one\u2028two\u2029three" };
    const path = folder.createFile("separators.ndjson", `\uFEFF${toNdjson(createDefinition(), body)}`);
    const { code, errors } = await runCli(["announce", "--wait", path], settings);
    assert.equal(code, 0, errors);
    assert.equal((await records.findOne({ topic_id: body.externalId }))?.["namespace"], body.namespace);
  });

  it("accepts an empty file, and reports a missing one", async () => {
    const empty = await runCli(["announce", "--wait", folder.createFile("empty.ndjson", "")], settings);
    assert.equal(empty.code, 0, empty.errors);
    assert.match(empty.output, /stored: 0 of 0/);
    const none = await runCli(["announce", join(folder.path, "none.json")], settings);
    assert.equal(none.code, 1);
    assert.match(none.errors, /none\.json/);
    assert.equal((await runCli(["announce"], settings)).code, 64);
    assert.equal((await runCli(["announce", "-", "-"], settings)).code, 64);
  });

  it("does not wait without --wait", async () => {
    const body = createDefinition();
    const { code, output } = await runCli(
      ["announce", folder.createFile("one.ndjson", toNdjson(body))],
      settings,
    );
    assert.equal(code, 0);
    assert.match(output, new RegExp(`announced 1 definition to ${topic}`));
  });

  it("reports a broker that does not respond within a time limit", async () => {
    const { code, errors } = await runCli(
      ["announce", folder.createFile("x.ndjson", toNdjson(createDefinition()))],
      { ...settings, ...impatient, KAFKA_BROKERS: "127.0.0.1:1" },
    );
    assert.equal(code, 69);
    assert.match(errors, /Kafka at 127\.0\.0\.1:1 did not respond within 10 s: .*ECONNREFUSED/);
  });
});
