import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import kafkajs, { type IHeaders } from "kafkajs";

import { toLogRecord } from "@topicsync/kafka/internals";
import { getHeaderText, type LogRecord } from "@topicsync/kafka";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import {
  toBase64,
  createBinaryHeaders,
  createCloudEvent,
  addFrame,
  createNotification,
} from "../../support/records.ts";
import { definition as createDefinition, stage } from "../../support/scene.ts";
import type { TestService } from "../../support/service.ts";

const { kafka, admin, producer, scene } = stage();
const { db, topic, deadLetterTopic, positions, createTopic, start, key } = scene();
const records = db.collection<Record<string, unknown> & { _id: string }>("svc_api_notif_mgmt_topic");
const retired = db.collection("svc_api_notif_mgmt_topic_retired");
const consumer = kafka.consumer({ groupId: unique("letters"), maxWaitTimeInMs: 100 });
const deadLetters: LogRecord[] = [];
let service: TestService;

before(async () => {
  // The service would create a compacted topic, which rejects records without a key.
  await createTopic();
  service = await start();
  await consumer.connect();
  await consumer.subscribe({ topics: [deadLetterTopic], fromBeginning: true });
  await consumer.run({
    eachMessage: ({ message }) => Promise.resolve(void deadLetters.push(toLogRecord(message))),
  });
});
after(() => consumer.disconnect());

interface Sent {
  readonly key?: string | Buffer | null;
  readonly value: string | Buffer | object | null;
  readonly headers?: IHeaders;
}

/** Sends records and returns the first offset. */
async function send(...sent: Sent[]): Promise<number> {
  const [metadata] = await producer.send({
    topic,
    // Allows many records in one request.
    compression: kafkajs.CompressionTypes.GZIP,
    messages: sent.map(({ key = null, value, headers = {} }) => ({
      key,
      headers,
      value:
        value === null || typeof value === "string" || Buffer.isBuffer(value) ? value : JSON.stringify(value),
    })),
  });
  return Number(metadata?.baseOffset);
}

const waitForPosition = (end: number): Promise<true> =>
  until(
    `the position is at least ${end}`,
    async () => ((await positions.findOne({ _id: key }))?.next_offset ?? 0) >= end,
  );

/** Sends records, waits until they are applied, and returns the first offset. */
async function announce(...sent: Sent[]): Promise<number> {
  const first = await send(...sent);
  const end = first + sent.length;
  await waitForPosition(end);
  return first;
}

const findDeadLetter = (offset: number): Promise<LogRecord> =>
  until(`the dead letter of offset ${offset}`, () =>
    deadLetters.find(({ headers }) => getHeaderText(headers, "topicsync.id") === `${topic}-0-${offset}`),
  );
const getHeader = (letter: LogRecord, name: string): string => String(getHeaderText(letter.headers, name));
/** All with the same filters, so that only the name makes a combination unique. */
const definition = (id = unique("id")) => ({
  ...createDefinition(id),
  contentQuery: "resource.state=active",
});
type Definition = ReturnType<typeof definition>;
const keyed = (value: Definition): Sent => ({ key: value.externalId, value });
const find = (id: string) => records.findOne({ topic_id: id });

describe("an announcement", () => {
  it("of a new definition creates the topic with its position in the log", async () => {
    const body = definition();
    const offset = await announce(keyed(body));
    const record = await find(body.externalId);
    assert.match(record?._id ?? "", /^[0-9a-f]{32}$/);
    assert.deepEqual(
      { ...record, _id: "", sys_created_on: 0, sys_updated_on: 0 },
      {
        _id: "",
        topic_name: body.name,
        topic_id: body.externalId,
        header_query: body.headerQuery,
        content_query: body.contentQuery,
        namespace: body.namespace,
        user_created: false,
        type: "egress",
        source: { kind: "announcement", topic, partition: 0, offset },
        sys_created_on: 0,
        sys_updated_on: 0,
      },
    );
  });

  it("needs no key, and null and missing members mean the empty string", async () => {
    const id = unique("id");
    await announce({ value: { externalId: id, name: id, namespace: null } });
    const record = await find(id);
    assert.deepEqual(
      [record?.["namespace"], record?.["header_query"], record?.["content_query"]],
      ["", "", ""],
    );
  });

  it("that is repeated changes nothing", async () => {
    const body = definition();
    await announce(keyed(body));
    const first = await find(body.externalId);
    await announce(keyed(body), keyed(body));
    assert.deepEqual(await find(body.externalId), first);
  });

  it("of a changed definition updates the topic and keeps its sys_id", async () => {
    const body = definition();
    await announce(keyed(body));
    const first = await find(body.externalId);
    await announce(keyed({ ...body, contentQuery: "" }));
    const second = await find(body.externalId);
    assert.equal(second?._id, first?._id);
    assert.equal(second?.["content_query"], "");
  });

  it("without a value retires the topic and frees its combination", async () => {
    const body = definition();
    const successor = { ...body, externalId: unique("id") };
    await announce(keyed(body));
    const offset = await announce({ key: body.externalId, value: null }, keyed(successor));
    assert.equal(await find(body.externalId), null);
    assert.notEqual(await find(successor.externalId), null);
    const record = await retired.findOne({ topic_id: body.externalId });
    assert.deepEqual(record?.["retired_by"], { kind: "announcement", topic, partition: 0, offset });
  });

  it("of a topic that was created over HTTP adopts it if the definition is the same, and is rejected otherwise", async () => {
    const body = definition();
    const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
    assert.equal((await call(url, { body })).status, 201);
    const offset = await announce(
      keyed({ ...body, name: "another" }),
      { key: body.externalId, value: null },
      keyed(body),
    );
    assert.equal(getHeader(await findDeadLetter(offset), "topicsync.code"), "EXTERNAL_ID_TAKEN");
    assert.equal(getHeader(await findDeadLetter(offset + 1), "topicsync.code"), "EXTERNAL_ID_TAKEN");
    assert.deepEqual((await find(body.externalId))?.["source"], {
      kind: "announcement",
      topic,
      partition: 0,
      offset: offset + 2,
    });
  });
});

describe("an announcement in an envelope", () => {
  const json = { "content-type": "application/cloudevents+json; charset=UTF-8" };
  const resource = ({ externalId, ...members }: Definition) => ({
    id: externalId,
    "@type": "Topic",
    ...members,
  });
  const created = (body: Definition) => createNotification("TopicCreateEvent", resource(body));
  const cases: [title: string, wrap: (body: Definition) => Sent][] = [
    ["structured CloudEvent", (body) => ({ value: createCloudEvent({ data: body }), headers: json })],
    ["structured CloudEvent without a header", (body) => ({ value: createCloudEvent({ data: body }) })],
    [
      "structured CloudEvent in Base64",
      (body) => ({ value: createCloudEvent({ data_base64: toBase64(body) }) }),
    ],
    ["CloudEvent in binary mode", (body) => ({ value: body, headers: createBinaryHeaders() })],
    ["TMF688 notification", (body) => ({ value: created(body) })],
    ["notification in a CloudEvent", (body) => ({ value: createCloudEvent({ data: created(body) }) })],
    [
      "Confluent frame",
      (body) => ({ key: addFrame(JSON.stringify(body.externalId)), value: addFrame(body) }),
    ],
  ];
  for (const [title, wrap] of cases) {
    it(`is applied like a plain one: ${title}`, async () => {
      const body = definition();
      await announce({ key: body.externalId, ...wrap(body) });
      const record = await find(body.externalId);
      assert.deepEqual(
        ["topic_name", "namespace", "header_query", "content_query"].map((name) => record?.[name]),
        [body.name, body.namespace, body.headerQuery, body.contentQuery],
      );
    });
  }

  it("changes and retires a topic by TMF688 notifications and by a framed key", async () => {
    const [one, two] = [definition(), definition()];
    const change = createNotification("TopicAttributeValueChangeEvent", {
      ...resource(one),
      contentQuery: null,
    });
    await announce(keyed(one), keyed(two), { key: one.externalId, value: change });
    assert.equal((await find(one.externalId))?.["content_query"], "");
    await announce(
      { key: one.externalId, value: createNotification("TopicDeleteEvent", { id: one.externalId }) },
      { key: addFrame(JSON.stringify(two.externalId)), value: null },
    );
    assert.deepEqual([await find(one.externalId), await find(two.externalId)], [null, null]);
    assert.notEqual(await retired.findOne({ topic_id: one.externalId }), null);
  });

  it("is kept unchanged if it is rejected, with the format that it was read as", async () => {
    const value = addFrame(createCloudEvent({ data: { ...definition(), headerquery: "" } }));
    const letter = await findDeadLetter(await announce({ value, headers: json }));
    assert.deepEqual(letter.value, value);
    assert.equal(getHeader(letter, "content-type"), json["content-type"]);
    assert.match(
      getHeader(letter, "__connect.errors.exception.message"),
      /read as a CloudEvent \(structured mode\) in a Confluent-framed value \(schema id 7\)/,
    );
    const [fault] = JSON.parse(getHeader(letter, "topicsync.details")) as { path: string }[];
    assert.equal(fault?.path, "/data/headerquery");
  });
});

describe("a rejected announcement", () => {
  it("is written to the dead-letter topic with its bytes, key, headers, timestamp and the reason", async () => {
    const value = Buffer.from([0x7b, 0xff, 0x00]);
    const offset = await announce({ key: "the key", value, headers: { traceparent: "00-ab" } });
    const letter = await findDeadLetter(offset);
    assert.deepEqual(letter.value, value);
    assert.equal(String(letter.key), "the key");
    assert.equal(getHeader(letter, "traceparent"), "00-ab");
    assert.equal(getHeader(letter, "__connect.errors.topic"), topic);
    assert.equal(getHeader(letter, "__connect.errors.partition"), "0");
    assert.equal(getHeader(letter, "__connect.errors.offset"), String(offset));
    assert.equal(getHeader(letter, "__connect.errors.exception.class.name"), "topicsync.UNDECODABLE");
    assert.match(getHeader(letter, "__connect.errors.exception.message"), /UTF-8/);
    assert.ok(Math.abs(Number(letter.timestamp) - Date.now()) < 600_000);
  });

  const cases: [code: string, title: string, sent: () => Sent][] = [
    ["MALFORMED_JSON", "that is not JSON", () => ({ value: "no JSON" })],
    ["SCHEMA_VIOLATION", "that is not a topic", () => ({ value: { name: "n" } })],
    ["SCHEMA_VIOLATION", "with an unknown member", () => ({ value: { ...definition(), headerquery: "" } })],
    ["KEY_MISMATCH", "under another topic's key", () => ({ key: "other", value: definition() })],
    ["MISSING_KEY", "without key and value", () => ({ value: null })],
    ["TOO_LARGE", "of more than 100 kB", () => ({ value: { ...definition(), name: "n".repeat(102_400) } })],
  ];
  for (const [code, title, sent] of cases) {
    it(`${title} has the code ${code}`, async () => {
      const offset = await announce(sent());
      assert.equal(getHeader(await findDeadLetter(offset), "topicsync.code"), code);
    });
  }

  it("lists the path of every fault", async () => {
    const letter = await findDeadLetter(await announce({ value: { externalId: "", more: 1 } }));
    const details = JSON.parse(getHeader(letter, "topicsync.details")) as { path: string }[];
    assert.deepEqual(details.map(({ path }) => path).toSorted(), ["/externalId", "/more", "/name"]);
  });

  it("with an existing combination names its holder, which is unchanged", async () => {
    const holder = definition();
    await announce(keyed(holder));
    const offset = await announce(keyed({ ...holder, externalId: unique("id") }));
    const letter = await findDeadLetter(offset);
    assert.equal(getHeader(letter, "topicsync.code"), "DUPLICATE_COMBINATION");
    assert.match(getHeader(letter, "__connect.errors.exception.message"), new RegExp(holder.externalId));
    assert.notEqual(await find(holder.externalId), null);
  });

  it("does not block the valid ones before and after it", async () => {
    const [one, two] = [definition(), definition()];
    const offset = await announce(
      keyed(one),
      { value: "{" },
      keyed(two),
      keyed({ ...one, externalId: unique("id") }),
    );
    assert.ok((await find(one.externalId)) !== null && (await find(two.externalId)) !== null);
    assert.equal(getHeader(await findDeadLetter(offset + 1), "topicsync.code"), "MALFORMED_JSON");
    assert.equal(getHeader(await findDeadLetter(offset + 3), "topicsync.code"), "DUPLICATE_COMBINATION");
  });

  it("is kept completely if hundreds are rejected at once", async () => {
    const junk = "x".repeat(4_000);
    const first = await announce(...Array.from({ length: 500 }, (_, i) => ({ value: `${junk}${i}` })));
    const letter = await findDeadLetter(first + 499);
    assert.equal(String(letter.value), `${junk}499`);
    for (let offset = first; offset < first + 500; offset += 1) await findDeadLetter(offset);
  });
});

describe("a batch", () => {
  it("has the result of one announcement after another: updates, swaps, retirements and rejections", async () => {
    const [a, b, c] = [definition(), definition(), definition()];
    const offset = await announce(
      keyed(a),
      keyed(b),
      keyed({ ...a, name: c.name, contentQuery: c.contentQuery }),
      keyed({ ...b, name: a.name }),
      { key: a.externalId, value: null },
      keyed({ ...b, name: c.name }),
      keyed({ ...c }),
    );
    assert.equal(await find(a.externalId), null);
    assert.equal((await find(b.externalId))?.["topic_name"], c.name);
    assert.equal(getHeader(await findDeadLetter(offset + 6), "topicsync.code"), "DUPLICATE_COMBINATION");
  });
});

describe("the compression of a record", () => {
  for (const [name, compression] of Object.entries(kafkajs.CompressionTypes)) {
    it(`can be ${name}`, async () => {
      const bodies = Array.from({ length: 50 }, () => definition());
      const [metadata] = await producer.send({
        topic,
        compression: compression as kafkajs.CompressionTypes,
        messages: bodies.map((body) => ({ key: body.externalId, value: JSON.stringify(body) })),
      });
      await waitForPosition(Number(metadata?.baseOffset) + 50);
      assert.equal(
        await records.countDocuments({ topic_id: { $in: bodies.map(({ externalId }) => externalId) } }),
        50,
      );
    });
  }
});

describe("the committed offset", () => {
  it("follows the position, for tools that monitor the group's lag", async () => {
    await announce(keyed(definition()));
    const end = (await positions.findOne({ _id: key }))?.next_offset;
    await until("it is committed", async () => {
      const [found] = await admin.fetchOffsets({ groupId: key.group, topics: [topic] });
      return Number(found?.partitions[0]?.offset) === end;
    });
  });
});
