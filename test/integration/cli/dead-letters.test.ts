import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";

import type { DeadLetterView } from "../../../schemas/dead-letter-api.ts";
import { readConfig } from "../../../src/config.ts";
import { createBroker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { LogRecord } from "../../../src/sync/records.ts";
import { deadLetterMessage } from "../../support/dead-letters.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { until } from "../../support/poll.ts";
import { definition, stage } from "../../support/scene.ts";
import { cli, environment, runCli } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

const { admin, producer, scene } = stage();
const broker = createBroker(
  { ...readConfig({}).kafka, brokers: [sharedStack().kafka] },
  await createLogger("silent"),
);
const { signal: never } = new AbortController();

before(() => broker.reach(never));
after(() => broker.close());

/** Creates a scene with the command line connected to it. */
function createScene() {
  const own = scene();
  const { settings, topic, deadLetterTopic } = own;
  const deadLetters = (...args: string[]) => runCli(["dead-letters", ...args], settings);
  /** The lines of `list --json --full`. */
  async function list(...args: string[]) {
    const { code, output, errors } = await deadLetters("list", "--json", "--full", ...args);
    assert.equal(code, 0, errors);
    return parseNdjson(output) as DeadLetterView[];
  }
  const createTopics = (partitions = 1) =>
    createKafkaTopics(
      admin,
      { topic, numPartitions: partitions },
      { topic: deadLetterTopic, numPartitions: 1 },
    );
  async function readRecords(of: string): Promise<LogRecord[]> {
    const records: LogRecord[] = [];
    for await (const { record } of broker.read(of, { abort: never })) records.push(record);
    return records;
  }
  return { ...own, deadLetters, list, createTopics, readRecords };
}

const deadLetter = (topic: string, offset: number, options: Parameters<typeof deadLetterMessage>[1] = {}) =>
  deadLetterMessage({ topic, partition: 0, offset }, { time: Date.now() - 3_600_000, ...options });
const decode = (base64: string | null | undefined): string => Buffer.from(base64 ?? "", "base64").toString();

const createDefinition = () => definition(unique("id"));

describe("a dead letter of a running service", () => {
  const own = createScene();
  const { topic, deadLetters, list } = own;

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

    const [listed] = await list("--id", id);
    assert.equal(listed?.code, "DUPLICATE_COMBINATION");
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
      /^1 of 1 dead letters: 1 DUPLICATE_COMBINATION$/,
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
    const headers = Object.entries(record?.headers ?? {}).map(([name, text]) => [name, String(text)]);
    assert.deepEqual(headers.toSorted(), [
      ["topicsync.replay-of", id],
      ["traceparent", "00-ab"],
    ]);
    await own.caughtUp();
    const [again] = await list("--id", id);
    assert.equal(again?.replays[0]?.outcome.status, "applied");
    assert.deepEqual(again.replays[0].sentTo, { topic, partition: 0, offset: record?.offset });
    assert.deepEqual(await list("--not-replayed", "--id", id), []);
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
    const [listed] = await list("--id", id);
    const offset = listed?.replays[0]?.sentTo.offset;
    assert.deepEqual(listed?.replays[0]?.outcome, {
      status: "rejected",
      code: "MALFORMED_JSON",
      deadLetterId: `${topic}-0-${offset ?? -1}`,
    });
    const [next] = await list("--id", `${topic}-0-${offset ?? -1}`);
    assert.equal(next?.replayOf, id);
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
    assert.deepEqual((await list("--id", id))[0]?.replays, []);
  });
});

describe("a replay with an unknown outcome", () => {
  it("is shown, and repeated only on request", async () => {
    const { db, topic, deadLetterTopic, deadLetters, list, createTopics } = createScene();
    await createTopics();
    await producer.send({ topic: deadLetterTopic, messages: [deadLetter(topic, 4)] });
    const id = `${topic}-0-4`;
    const replay = {
      letter: id,
      attempt: 1,
      state: "sending",
      replayed_on: new Date(),
      sent_to: { topic, partition: 0 },
    };
    await db.collection("topicsync_replays").insertOne(replay);
    assert.equal((await list())[0]?.replays[0]?.outcome.status, "unknown");
    assert.match((await deadLetters("replay", id, "--yes")).output, /unknown[^]*Nothing to send/);
    assert.match((await deadLetters("replay", id, "--yes", "--again")).output, /sent 1 of 1 dead letter/);
  });
});

describe("the dead-letter topic", () => {
  it("may be empty or missing", async () => {
    const { deadLetters, createTopics } = createScene();
    const missing = await deadLetters("list");
    assert.deepEqual([missing.code, /no dead letters/.test(missing.output)], [0, true]);
    await createTopics();
    const empty = await deadLetters("list");
    assert.deepEqual([empty.code, /no dead letters/.test(empty.output)], [0, true]);
    assert.equal((await deadLetters("list", "--json")).output, "");
    const unknown = await deadLetters("show", "nothing-0-1");
    assert.deepEqual([unknown.code, /no dead letter "nothing-0-1"/.test(unknown.errors)], [1, true]);
    assert.equal((await deadLetters("replay", "nothing-0-1", "--yes")).code, 1);
  });

  it("may hold copies, references, foreign and hostile records", async () => {
    const { topic, deadLetterTopic, deadLetters, list, createTopics, readRecords } = createScene();
    await createTopics();
    const bytes = Buffer.from([0, 255, 1, 254]);
    await producer.send({
      topic: deadLetterTopic,
      messages: [
        deadLetter(topic, 7, { value: "first copy" }),
        deadLetter(topic, 8, {
          value: null,
          headers: { "topicsync.omitted": "too large: 9 bytes lie elsewhere" },
        }),
        deadLetter(topic, 7, { value: "second copy" }),
        { key: "k", value: bytes, headers: { "__connect.errors.exception.class.name": "org.example.Oops" } },
        {
          value: "\u001b[31mred",
          headers: {
            ...deadLetter(topic, 9).headers,
            "topicsync.id": `${topic}-0-7`,
            "topicsync.details": "{",
          },
        },
        deadLetter(topic, 10, {
          code: "NEW",
          headers: {
            "topicsync.details": '[1,{"path":2}]',
            "__connect.errors.exception.message": "\u001b]0;title\u0007",
          },
        }),
        deadLetter("another.topic", 3, {
          headers: { "__connect.errors.partition": "-1", ["__proto__"]: "p", constructor: "c" },
        }),
      ],
    });
    const all = await list();
    assert.deepEqual(
      all.map(({ id, code, copies }) => [id, code, copies]),
      [
        [`${deadLetterTopic}-0-6`, "OTHER", 1],
        [`${topic}-0-10`, "OTHER", 1],
        [`${deadLetterTopic}-0-4`, "OTHER", 1],
        [`${deadLetterTopic}-0-3`, "OTHER", 1],
        [`${topic}-0-7`, "MALFORMED_JSON", 2],
        [`${topic}-0-8`, "MALFORMED_JSON", 1],
      ],
    );
    assert.equal((await deadLetters("show", `${topic}-0-7`, "--raw")).output, "second copy");
    assert.match(
      (await deadLetters("show", `${deadLetterTopic}-0-3`)).output,
      /org\.example\.Oops[^]*00 ff 01 fe/,
    );
    const hostile = await deadLetters("list");
    assert.ok(!hostile.output.includes("\u001b"), "the output contains an escape character");
    assert.ok(
      !(await deadLetters("show", `${deadLetterTopic}-0-4`)).output.includes("\u001b"),
      "the output contains an escape character",
    );

    const { code, output } = await deadLetters("replay", "--all", "--yes");
    assert.equal(code, 0);
    assert.match(output, /-0-8 .*too large: 9 bytes lie elsewhere/);
    const sent = await readRecords(topic);
    assert.equal(sent.length, 5);
    assert.deepEqual(sent.find(({ key }) => String(key) === "k")?.value, bytes);
    assert.ok(
      sent.every(({ headers }) => Object.keys(headers).every((name) => !name.startsWith("__connect"))),
    );
  });

  it("is filtered by code and age", async () => {
    const { topic, deadLetterTopic, deadLetters, list, createTopics } = createScene();
    await createTopics();
    const old = {
      ...deadLetter(topic, 1, { code: "TOO_LARGE" }),
      timestamp: String(Date.now() - 3 * 86_400_000),
    };
    await producer.send({ topic: deadLetterTopic, messages: [old, deadLetter(topic, 2)] });
    const ids = async (...args: string[]) => (await list(...args)).map(({ id }) => id.at(-1));
    assert.deepEqual(await ids("--code", "TOO_LARGE"), ["1"]);
    assert.deepEqual(await ids("--code", "TOO_LARGE", "MALFORMED_JSON"), ["2", "1"]);
    assert.deepEqual(await ids("--newer-than", "2h"), ["2"]);
    assert.deepEqual(await ids("--older-than", "2d"), ["1"]);
    assert.deepEqual(await ids("--newer-than", "4d", "--older-than", "30m"), ["2", "1"]);
    const unknown = await deadLetters("list", "--code", "NONSENSE");
    assert.deepEqual([unknown.code, /Known codes are MALFORMED_JSON/.test(unknown.errors)], [64, true]);
    for (const bad of ["5", "-2h", "soon", "2 hows"]) {
      const { code, errors } = await deadLetters("list", `--newer-than=${bad}`);
      assert.deepEqual([code, errors.includes("--newer-than")], [64, true], errors);
    }
  });

  it("of 2,000 dead letters is listed to a slow reader, and to one that closes the pipe", async () => {
    const { settings, topic, deadLetterTopic, deadLetters, createTopics, readRecords } = createScene();
    await createTopics();
    const letters = Array.from({ length: 2_000 }, (_, i) =>
      deadLetter(topic, i, { value: "x".repeat(1_000) }),
    );
    for (let at = 0; at < letters.length; at += 500)
      await producer.send({ topic: deadLetterTopic, messages: letters.slice(at, at + 500) });
    const run = (pipe: string) =>
      spawn("sh", ["-c", `"$0" "$1" dead-letters list --json | ${pipe}`, process.execPath, cli], {
        env: environment(settings),
        stdio: ["ignore", "pipe", "pipe"],
      });
    for (const [pipe, expected] of [
      ["(read first; wc -l)", "1999"],
      ["head -n 1 | wc -l", "1"],
    ] as const) {
      const child = run(pipe);
      let output = "";
      let errors = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
      await once(child, "close");
      assert.deepEqual([output.trim(), errors], [expected, ""]);
    }
    const replayed = await deadLetters("replay", "--all", "--yes");
    assert.match(replayed.output, /sent 2000 of 2000 dead letters/);
    const values = await readRecords(topic);
    assert.deepEqual(
      values.map(({ headers }) => String(headers["topicsync.replay-of"])),
      letters.map(({ headers }) => headers["topicsync.id"]),
    );
  });
});

describe("the dead-letters command", () => {
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
    const elsewhere = { ...settings, KAFKA_BROKERS: "127.0.0.1:1" };
    const { code, errors } = await runCli(["dead-letters", "list"], elsewhere);
    assert.equal(code, 69);
    assert.match(errors, /Kafka at 127\.0\.0\.1:1 did not respond within 10 s: .*ECONNREFUSED/);
  });

  it("gives up, without further attempts, if a broker never responds", async () => {
    const silent = await startTcpProxy(1);
    silent.freeze();
    const address = `127.0.0.1:${silent.port}`;
    const { settings } = createScene();
    const { code, errors } = await runCli(["dead-letters", "list"], { ...settings, KAFKA_BROKERS: address });
    assert.equal(errors, `topicsync: Kafka at ${address} did not respond within 10 s: no response\n`);
    assert.equal(code, 69);
  });

  it("does not start a broker", async () => {
    const folder = `none-${unique("data")}`;
    const { code, errors } = await runCli(["dead-letters", "list"], { TOPICSYNC_DATA: folder });
    assert.equal(code, 69);
    assert.match(
      errors,
      new RegExp(`no embedded stack is running on ${folder}; start the service first, or set KAFKA_BROKERS`),
    );
  });
});
