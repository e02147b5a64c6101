import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { ensureIndexes } from "../../../src/storage/indexes.ts";
import { getPort } from "../../unit/embedded/local.ts";
import { call } from "../../support/http.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { waitUntilNotReady, waitUntilReady, type PositionRecord } from "../../support/scene.ts";
import { bootstrap, ownNames, runCli, startTopicsync, type TestService } from "../../support/service.ts";
import { databaseUri, sharedStack, testDatabase, testKafka } from "../../support/stack.ts";

const stack = sharedStack();
const { admin, producer } = testKafka(stack.kafka);
const hourMs = 3_600_000;
const agoIso = (ms: number): string => new Date(Date.now() - ms).toISOString();

before(async () => {
  await Promise.all([admin.connect(), producer.connect()]);
});

/** A database, Kafka topics and tokens of a test's own. */
function scene() {
  const { uri, db } = testDatabase(stack.mongodb);
  const topic = unique("feedback");
  const letterTopic = `${topic}.dead-letter`;
  const names = ownNames();
  const settings = {
    ...names,
    MONGODB_URI: uri,
    KAFKA_BROKERS: stack.kafka,
    KAFKA_PUSH_FEEDBACK_TOPIC: topic,
    PUSH_APPLICATIONS: "agent,other",
    PUSH_PLATFORMS: "ios,android",
  };
  const group = `${names["KAFKA_GROUP_ID"]}.push-feedback`;
  const installations = db.collection<InstallationRecord>("sys_push_notif_app_install");
  const positions = db.collection<PositionRecord>("topicsync_positions");
  const key = { group, topic, partition: 0 };

  async function report(...values: (string | object)[]): Promise<number> {
    const messages = values.map((value) => ({
      value: typeof value === "string" ? value : JSON.stringify(value),
    }));
    const [metadata] = await producer.send({ topic, messages });
    return Number(metadata?.baseOffset);
  }
  const applied = () =>
    until("every report is applied", async () => {
      const [end] = await admin.fetchTopicOffsets(topic);
      return (await positions.findOne({ _id: key }))?.next_offset === Number(end?.high);
    });

  return {
    uri,
    db,
    settings,
    topic,
    letterTopic,
    installations,
    positions,
    key,
    /** The topic and the indexes, as a service makes them: an index on records that are there takes its time. */
    prepare: async (): Promise<void> => {
      await ensureIndexes(db);
      await createKafkaTopics(admin, { topic, numPartitions: 1 });
    },
    report,
    applied,
    stored: (token: string) => installations.findOne({ token, application: "agent" }),
    inactive: () => installations.countDocuments({ active: false }),
    letters: async (): Promise<number> => {
      const [offsets] = await admin.fetchTopicOffsets(letterTopic);
      return Number(offsets?.high);
    },
    cli: (...args: string[]) => runCli(args, settings),
  };
}

const dead = (token: string, more: object = {}) => ({
  platform: "ios",
  token,
  reason: "Unregistered",
  ...more,
});

describe("push feedback", () => {
  const own = scene();
  const { installations, stored, report, applied, settings } = own;
  let service: TestService;

  before(async () => {
    service = await startTopicsync(settings);
    await service.ready();
  });

  const register = async (token: string): Promise<void> => {
    const url = `${service.url}/api/now/push/agent/installation`;
    assert.equal((await call(url, { body: { platform: "ios", token } })).status, 200);
  };
  const metric = async (name: string): Promise<number> => {
    const { text } = await call(`${service.url}/metrics`, { method: "GET", as: undefined });
    const line = text
      .split("\n")
      .find((one) => one.startsWith(`topicsync_push_feedback_total{outcome="${name}"}`));
    return Number(line?.split(" ").at(-1));
  };
  const outcome = async (name: "deactivated" | "renewed" | "inactive" | "unknown"): Promise<number> => {
    const { json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET" });
    return (json as SyncStatus).pushFeedback?.counts?.[name] ?? NaN;
  };

  it("deactivates a token in every application, with the push service's reason", async () => {
    const token = unique("token");
    await installations.insertMany([
      installation(token),
      installation(token, { application: "other" }),
      installation(token, { platform: "android" }),
    ]);
    await report(dead(token));
    await applied();
    const records = await installations.find({ token }).toArray();
    const byPlatform = Map.groupBy(records, ({ platform }) => platform);
    assert.deepEqual(
      byPlatform.get("ios")?.map((one) => [one.active, one.deactivated_reason]),
      [
        [false, "Unregistered"],
        [false, "Unregistered"],
      ],
    );
    assert.ok(byPlatform.get("ios")?.every((one) => one.deactivated_on instanceof Date));
    assert.equal(byPlatform.get("android")?.[0]?.active, true);
  });

  it("leaves a token active that was registered after the report, and takes a later report", async () => {
    const token = unique("token");
    const [renewed, deactivated] = [await outcome("renewed"), await outcome("deactivated")];
    await register(token);
    await report(dead(token, { reportedOn: agoIso(hourMs) }));
    await applied();
    assert.equal((await stored(token))?.active, true);
    assert.equal(await outcome("renewed"), renewed + 1);
    await report(dead(token, { reason: "BadDeviceToken", application: "agent" }));
    await applied();
    assert.equal((await stored(token))?.deactivated_reason, "BadDeviceToken");
    assert.equal(await outcome("deactivated"), deactivated + 1);
    // At most a second late.
    await until("Prometheus sees it", async () => (await metric("deactivated")) === deactivated + 1);
  });

  it("applies the platform's token rule, as registration does", async () => {
    const platforms = own.db.collection("sys_push_platform");
    await platforms.insertOne({ _id: unique("id") as never, name: "apns", active: true, token_rule: "apns" });
    const token = "00ff".repeat(16);
    await installations.insertOne(installation(token, { platform: "apns" }));
    await report(dead(token.toUpperCase(), { platform: "apns" }));
    await applied();
    assert.equal((await stored(token))?.active, false);
  });

  it("counts a token that nobody registered, and rejects nothing", async () => {
    const [unknown, letters] = [await outcome("unknown"), await own.letters()];
    await report(dead(unique("token")), dead(unique("token")));
    await applied();
    assert.equal(await outcome("unknown"), unknown + 2);
    assert.equal(await own.letters(), letters);
  });

  it("changes nothing when it is read again from the start, also where tokens live again", async () => {
    const [gone, back] = [unique("token"), unique("token")];
    await installations.insertMany([installation(gone), installation(back)]);
    await report(dead(gone), dead(back));
    await applied();
    await register(back);
    const before = await installations.find().sort({ _id: 1 }).toArray();
    assert.equal((await stored(back))?.active, true);
    await own.positions.deleteOne({ _id: own.key });
    await report(dead(unique("token")));
    await applied();
    assert.deepEqual(await installations.find().sort({ _id: 1 }).toArray(), before);
  });

  it("keeps what it rejects on a dead-letter topic of its own, from where it is replayed", async () => {
    const token = unique("token");
    const reports = [dead(token, { platform: "later" }), "no JSON", dead("t", { application: "none" })];
    const first = await report(...reports);
    await applied();
    const ids = reports.map((_, i) => `${own.topic}-0-${first + i}`);
    const listed = await own.cli("dead-letters", "list", "--push-feedback", "--json");
    assert.equal(listed.code, 0, listed.errors);
    const letters = listed.output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string; code: string });
    assert.deepEqual(
      ids.map((id) => letters.filter((one) => one.id === id).map(({ code }) => code)),
      [["UNKNOWN_PLATFORM"], ["MALFORMED_JSON"], ["UNKNOWN_APPLICATION"]],
    );
    const others = await own.cli("dead-letters", "list");
    assert.match(others.output, /There are no dead letters/);

    const platforms = own.db.collection("sys_push_platform");
    await platforms.insertOne({ _id: unique("id") as never, name: "later", active: true });
    // One device is dead since the report; the other was registered after it, and must survive its replay.
    const revived = unique("token");
    await installations.insertMany([
      installation(token, { platform: "later" }),
      installation(revived, { platform: "later", last_seen_on: new Date() }),
    ]);
    const replayed = await own.cli("dead-letters", "replay", "--push-feedback", ids[0] ?? "", "--yes");
    assert.equal(replayed.code, 0, replayed.errors);
    await applied();
    assert.equal((await stored(token))?.active, false);
  });

  it("is as old as it was when it is replayed: a token that was registered since stays active", async () => {
    const token = unique("token");
    const first = await report(dead(token, { platform: "yet to come" }));
    await applied();
    const platforms = own.db.collection("sys_push_platform");
    await platforms.insertOne({ _id: unique("id") as never, name: "yet to come", active: true });
    await installations.insertOne(installation(token, { platform: "yet to come", last_seen_on: new Date() }));
    const id = `${own.topic}-0-${first}`;
    const { code, errors } = await own.cli("dead-letters", "replay", "--push-feedback", id, "--yes");
    assert.equal(code, 0, errors);
    await applied();
    assert.equal((await stored(token))?.active, true);
    const { output } = await own.cli("dead-letters", "show", "--push-feedback", id);
    assert.match(output, /applied/);
  });

  it("is told of by the status, over HTTP and on the command line", async () => {
    const { json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET" });
    assert.equal(json.pushFeedback.consumer, "assigned");
    assert.equal(json.pushFeedback.topic, own.topic);
    assert.equal(json.pushFeedback.partitions[0].lagRecords, 0);
    assert.equal(json.pushFeedback.counts.rejected.MALFORMED_JSON >= 1, true);
    const { output } = await runCli(
      ["status", "--url", service.url, "--user", bootstrap.user],
      settings,
      bootstrap.password,
    );
    assert.match(output, new RegExp(`topic ${own.topic}: in sync, every report is applied`));
    assert.match(output, /deactivated \d+, renewed \d+, inactive \d+, unknown \d+, rejected \d+/);
  });

  it("ends with all that in order", async () => {
    assert.equal(await service.stop(), 0);
  });
});

describe("push feedback in trouble", () => {
  it("is applied once although the service is killed in its midst", async () => {
    const own = scene();
    await own.prepare();
    const tokens = Array.from({ length: 2_400 }, (_, i) => `token-${i}`);
    const bad = Array.from({ length: 24 }, () => "no JSON");
    for (let at = 0; at < tokens.length; at += 400) {
      const some = tokens.slice(at, at + 400);
      await own.installations.insertMany(some.map((token) => installation(token)));
      await own.report(...some.map((token) => dead(token)), ...bad.slice(at / 100, at / 100 + 4));
    }
    const deactivated = new Map<string, Date | undefined>();
    for (const part of [1, 800, 1_600]) {
      const service = await startTopicsync(own.settings);
      await until(`${part} are inactive`, async () => (await own.inactive()) >= part);
      await service.stop("SIGKILL");
      const found = await own.installations.find({ active: false }).toArray();
      for (const one of found) if (!deactivated.has(one._id)) deactivated.set(one._id, one.deactivated_on);
    }
    assert.ok(deactivated.size < tokens.length, "it was killed before it was through");
    const service = await startTopicsync(own.settings);
    await own.applied();
    assert.equal(await own.inactive(), tokens.length);
    const after = new Map(
      (await own.installations.find().toArray()).map((one) => [one._id, one.deactivated_on]),
    );
    for (const [id, on] of deactivated) assert.deepEqual(after.get(id), on, "it was deactivated twice");
    const { output } = await own.cli("dead-letters", "list", "--push-feedback", "--json");
    assert.equal(output.trim().split("\n").length, bad.length);
    assert.equal(await service.stop(), 0);
  });

  it("waits while MongoDB is away, says so, rejects nothing, and goes on by itself", async () => {
    const own = scene();
    await own.prepare();
    const store = await startMongoProxy(getPort(stack.mongodb));
    const proxied = `mongodb://127.0.0.1:${store.port}/?directConnection=true`;
    const tokens = Array.from({ length: 1_000 }, (_, i) => `token-${i}`);
    await own.installations.insertMany(tokens.map((token) => installation(token)));
    const service = await startTopicsync({
      ...own.settings,
      MONGODB_URI: databaseUri(proxied, new URL(own.uri).pathname.slice(1)),
    });
    await service.ready();
    await own.report(...tokens.slice(0, 600).map((token) => dead(token)));
    await until("some are inactive", async () => (await own.inactive()) > 0);
    store.cut();
    await own.report(...tokens.slice(600).map((token) => dead(token)));
    await waitUntilNotReady(
      service,
      "pushFeedback",
      /the sync is paused.*MongoDB does not answer|no answer within/,
    );
    store.heal();
    await waitUntilReady(service);
    await own.applied();
    assert.equal(await own.inactive(), tokens.length);
    assert.equal(await own.letters(), 0);
    assert.equal(await service.stop(), 0);
  });
});
