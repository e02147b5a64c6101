import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { deadLetter, deadLetterStage } from "../../support/dead-letter-scene.ts";
import { unique } from "../../support/names.ts";
import { impatient } from "../../support/patience.ts";
import { until } from "../../support/poll.ts";
import { definition } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

const { producer, createScene } = await deadLetterStage();

const decode = (base64: string | null | undefined): string => Buffer.from(base64 ?? "", "base64").toString();
const createDefinition = () => definition(unique("id"));

describe("a dead letter of a running service", () => {
  const own = createScene();
  const { topic, deadLetters, list, show } = own;

  before(async () => {
    await own.createTopics();
    await own.start();
  });

  interface Sent {
    readonly key: string | null;
    readonly value: unknown;
    readonly headers?: Record<string, string>;
  }
  /** Sends announcements, waits until they are applied, and returns the id of the first one. */
  async function announce(...sent: Sent[]): Promise<string> {
    const messages = sent.map(({ key, value, headers = {} }) => ({
      key,
      headers,
      value: value === null || typeof value === "string" ? value : JSON.stringify(value),
    }));
    const [metadata] = await producer.send({ topic, messages });
    const first = Number(metadata?.baseOffset);
    await own.reached(first + sent.length);
    return `${topic}-0-${first}`;
  }

  it("is listed with its reason, shown, and replayed once its cause is fixed", async () => {
    const holder = createDefinition();
    const heir = { ...holder, externalId: unique("id") };
    await announce({ key: holder.externalId, value: holder });
    const id = await announce({ key: heir.externalId, value: heir, headers: { traceparent: "00-ab" } });

    const listed = await show(id);
    assert.equal(listed.code, "DUPLICATE_COMBINATION");
    assert.equal(decode(listed.key), heir.externalId);
    assert.deepEqual(JSON.parse(decode(listed.value)), heir);
    assert.deepEqual(
      listed.headers.map(({ name, value }) => [name, decode(value)]),
      [["traceparent", "00-ab"]],
    );
    assert.deepEqual(listed.replays, []);
    const table = await deadLetters("list");
    assert.match(table.output, new RegExp(`${id} .* DUPLICATE_COMBINATION .*no.*${heir.externalId}`));
    assert.match(
      table.output.trimEnd().split("\n").at(-1) ?? "",
      /^1 of 1 dead letters \(1 DUPLICATE_COMBINATION\)$/,
    );
    const shown = await deadLetters("show", id);
    assert.match(shown.output, /held by the topic/);
    assert.match(shown.output, /traceparent: 00-ab/);
    assert.match(shown.output, /^ {2}"namespace": "inventory",$/m);

    await announce({ key: holder.externalId, value: null });
    const replayed = await deadLetters("replay", id, "--yes");
    assert.equal(replayed.code, 0, replayed.errors);
    assert.match(replayed.errors, /"audit":true,.*"count":1,.*"msg":"dead-letters\.replayed"/);
    await until("the topic is stored", () => own.topics.findOne({ topic_id: heir.externalId }));
    const record = (await own.readRecords(topic)).at(-1);
    assert.equal(String(record?.key), heir.externalId);
    assert.deepEqual(JSON.parse(String(record?.value)), heir);
    const headers = (record?.headers ?? []).map(([name, text]) => [name, String(text)]);
    assert.deepEqual(headers.toSorted(), [
      ["topicsync.replay-of", id],
      ["traceparent", "00-ab"],
    ]);
    await own.caughtUp();
    const again = await show(id);
    assert.equal(again.replays[0]?.outcome.status, "applied");
    assert.deepEqual(again.replays[0].sentTo, { topic, partition: 0, offset: record?.offset });
    assert.deepEqual(await list("--not-replayed"), []);
    assert.equal((await list("--replayed")).length, 1);

    const second = await deadLetters("replay", id, "--yes");
    assert.equal(second.code, 0);
    assert.match(second.output, /replayed on .*applied[^]*Nothing to send/);
    assert.equal((await own.readRecords(topic)).at(-1)?.offset, record?.offset);
    const third = await deadLetters("replay", id, "--yes", "--again");
    assert.equal((await own.readRecords(topic)).at(-1)?.offset, (record?.offset ?? 0) + 1, third.errors);
  });

  it("that is rejected again names its new dead letter", async () => {
    const id = await announce({ key: "bad", value: "{", headers: { constructor: "c" } });
    assert.equal((await deadLetters("replay", id, "--yes")).code, 0);
    await own.caughtUp();
    const { replays } = await show(id);
    const offset = replays[0]?.sentTo.offset;
    assert.deepEqual(replays[0]?.outcome, {
      status: "rejected",
      code: "MALFORMED_JSON",
      deadLetterId: `${topic}-0-${offset ?? -1}`,
    });
    assert.equal((await show(`${topic}-0-${offset ?? -1}`)).replayOf, id);
    assert.match((await deadLetters("show", id)).output, /rejected \(MALFORMED_JSON\)/);
  });

  it("does not overwrite a later announcement or retirement of its topic, unless forced", async () => {
    const [announced, retired] = [createDefinition(), createDefinition()];
    const id = await announce(
      { key: announced.externalId, value: { ...announced, more: 1 } },
      { key: announced.externalId, value: announced },
      { key: retired.externalId, value: { ...retired, more: 1 } },
      { key: retired.externalId, value: retired },
      { key: retired.externalId, value: null },
    );
    const first = Number(id.slice(`${topic}-0-`.length));
    const ids = [id, `${topic}-0-${first + 2}`];
    const { output } = await deadLetters("replay", ...ids, "--yes");
    assert.match(
      output,
      new RegExp(`superseded: ${announced.externalId} was announced later, at offset ${first + 1}`),
    );
    assert.match(
      output,
      new RegExp(`superseded: ${retired.externalId} was retired later, at offset ${first + 4}`),
    );
    assert.match(output, /Nothing to send/);
    const forced = await deadLetters("replay", ...ids, "--yes", "--force");
    assert.match(forced.output, /sent 2 of 2 dead letters/);
  });

  it("is not sent by a dry run", async () => {
    const id = await announce({ key: "bad", value: "[" });
    const { code, output } = await deadLetters("replay", id, "--dry-run");
    assert.equal(code, 0);
    assert.match(output, /1 dead letter would be sent/);
    assert.deepEqual((await show(id)).replays, []);
  });
});

describe("a replay with an unknown outcome", () => {
  it("is shown, and repeated only on request", async () => {
    const { db, topic, deadLetters, list, createTopics, sendLetters } = createScene();
    await createTopics();
    await sendLetters([deadLetter(topic, 4)]);
    const id = `${topic}-0-4`;
    const replay = {
      letter: id,
      attempt: 1,
      state: "sending",
      replayed_on: new Date(),
      sent_to: { topic, partition: 0 },
    };
    await db.collection("topicsync_replays").insertOne(replay);
    assert.equal((await list())[0]?.replay?.outcome.status, "unknown");
    assert.match((await deadLetters("replay", id, "--yes")).output, /unknown[^]*Nothing to send/);
    assert.match((await deadLetters("replay", id, "--yes", "--again")).output, /sent 1 of 1 dead letter/);
  });
});

describe("the dead-letters command", { concurrency: true }, () => {
  it("requires a selection, --yes without a terminal, and no contradictions", async () => {
    const { deadLetters } = createScene();
    for (const [args, message] of [
      [["replay", "--yes"], /select dead letters/],
      [["replay", "--all"], /--yes/],
      [["replay", "--all", "x-0-1", "--yes"], /cannot be combined/],
      [["list", "--replayed", "--not-replayed"], /cannot be used with/],
      [["show"], /id/],
    ] as const) {
      const { code, errors } = await deadLetters(...args);
      assert.deepEqual([code, message.test(errors)], [64, true], errors);
    }
  });

  it("names the address that does not respond", async () => {
    const { settings } = createScene();
    const elsewhere = { ...settings, ...impatient, KAFKA_BROKERS: "127.0.0.1:1" };
    const { code, errors } = await runCli(["dead-letters", "list"], elsewhere);
    assert.equal(code, 69);
    assert.match(errors, /Kafka at 127\.0\.0\.1:1 did not respond within 10 s: .*ECONNREFUSED/);
  });

  it("gives up, without further attempts, if a broker never responds", async () => {
    const silent = await startTcpProxy(1);
    silent.freeze();
    const address = `127.0.0.1:${silent.port}`;
    const { settings } = createScene();
    const nowhere = { ...settings, ...impatient, KAFKA_BROKERS: address };
    const { code, errors } = await runCli(["dead-letters", "list"], nowhere);
    assert.equal(errors, `topicsync: Kafka at ${address} did not respond within 10 s: no response\n`);
    assert.equal(code, 69);
  });

  it("does not start a broker", async () => {
    const folder = `none-${unique("data")}`;
    const { code, errors } = await runCli(["dead-letters", "list"], { TOPICSYNC_DATA: folder });
    assert.equal(code, 69);
    assert.match(
      errors,
      new RegExp(`no embedded stack is running on ${folder}; start the service first, or set MONGODB_URI`),
    );
  });
});
