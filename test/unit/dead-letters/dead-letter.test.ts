import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { LogRecord } from "@topicsync/kafka";
import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import { parseDeadLetter } from "../../../src/dead-letters/dead-letter.ts";
import { findReplays } from "../../../src/dead-letters/outcomes.ts";
import { createProof } from "../../../src/dead-letters/proof.ts";
import { toDeadLetterView } from "../../../src/dead-letters/views.ts";
import { findLater } from "../../../src/dead-letters/replay-plan.ts";
import type { Replay } from "../../../src/dead-letters/stores.ts";
import { summarize } from "../../../src/dead-letters/summary.ts";
import { toHeaders, type NamedHeaders } from "../../support/records.ts";

const secret = Buffer.alloc(32, "a key");

const ours = {
  "__connect.errors.topic": "a-1",
  "__connect.errors.partition": "2",
  "__connect.errors.offset": "30",
  "__connect.errors.exception.message": "why",
  "topicsync.id": "a-1-2-30",
  "topicsync.code": "TOO_LARGE",
  "topicsync.details": '[{"path":"/a","message":"is wrong"}]',
} as const;

const read = (named: NamedHeaders, more: Partial<LogRecord> = {}) =>
  parseDeadLetter(
    "dead",
    {
      partition: 0,
      record: {
        ...{ offset: 9, timestamp: "1700000000000", key: null, value: Buffer.from("v") },
        headers: toHeaders(named),
        ...more,
      },
    },
    { identify: identifyTopic, proofKey: "any" },
  );

describe("a dead letter", () => {
  it("is one of topicsync only with a proof, which covers all of it and its Kafka topic", () => {
    const content = {
      key: Buffer.from("k"),
      value: Buffer.from("v"),
      headers: toHeaders({ ...ours, own: "1" }),
    };
    const proof = createProof(secret, "dead", content);
    const parse = (topic: string, more: Partial<typeof content>, headers: NamedHeaders = {}): string => {
      const record = { offset: 9, timestamp: "0", ...content, ...more };
      const all = { ...ours, own: "1", "topicsync.proof": proof, ...headers };
      const placed = { partition: 0, record: { ...record, headers: toHeaders(all) } };
      return parseDeadLetter(topic, placed, { identify: identifyTopic, proofKey: secret }).code;
    };
    assert.equal(parse("dead", {}), "TOO_LARGE");
    assert.deepEqual(
      [
        parse("other", {}),
        parse("dead", { value: Buffer.from("w") }),
        parse("dead", { key: Buffer.from("other") }),
        parse("dead", {}, { own: "2" }),
        parse("dead", {}, { "topicsync.undelivered": "[]" }),
        parse("dead", {}, { "topicsync.proof": [] }),
        parse("dead", {}, { "topicsync.proof": createProof(Buffer.alloc(32), "dead", content) }),
      ],
      Array(7).fill("OTHER"),
    );
  });

  it("of topicsync is identified by the position of the announcement", () => {
    const letter = read({ ...ours, own: "kept", "topicsync.replay-of": "a-1-2-3" });
    assert.deepEqual(
      { ...letter, value: null },
      {
        id: "a-1-2-30",
        position: { topic: "dead", partition: 0, offset: 9 },
        source: { topic: "a-1", partition: 2, offset: 30 },
        time: new Date(1_700_000_000_000),
        code: "TOO_LARGE",
        message: "why",
        details: [{ path: "/a", message: "is wrong" }],
        key: null,
        value: null,
        headers: [["own", "kept"]],
        externalId: undefined,
        omitted: undefined,
        replayOf: "a-1-2-3",
        undelivered: undefined,
      },
    );
  });

  it("of a later epoch has the epoch in its id and its source", () => {
    const headers = { ...ours, "topicsync.epoch": "2", "topicsync.id": "a-1-2-30-2" };
    const { id, code, source } = read(headers);
    assert.deepEqual([id, code], ["a-1-2-30-2", "TOO_LARGE"]);
    assert.deepEqual(source, { topic: "a-1", partition: 2, offset: 30, epoch: 2 });
    assert.deepEqual(read({ ...ours, "topicsync.epoch": "1" }).id, "a-1-2-30");
  });

  it("whose id does not match its source is not one of topicsync", () => {
    for (const headers of [
      { ...ours, "topicsync.epoch": "2" },
      { ...ours, "topicsync.id": "a-1-2-30-2" },
      { ...ours, "topicsync.id": "a-1-2-31" },
      { ...ours, "__connect.errors.offset": "-1" },
      { ...ours, "__connect.errors.partition": "2e1" },
      { "topicsync.id": "a-1-2-30", "topicsync.code": "TOO_LARGE" },
      {},
    ]) {
      const { id, code, details } = read(headers);
      assert.deepEqual([id, code, details], ["dead-0-9", "OTHER", []]);
    }
  });

  it("is without its value only if the value is null", () => {
    const omitted = { ...ours, "topicsync.omitted": "elsewhere" };
    assert.equal(read(omitted).omitted, undefined);
    assert.equal(read(omitted, { value: null }).omitted, "elsewhere");
  });

  it("has no key if its key is its id because the topic requires keys", () => {
    const keyless = { ...ours, "topicsync.keyless": "true" };
    const key = Buffer.from(ours["topicsync.id"]);
    assert.equal(read(keyless, { key }).key, null);
    assert.equal(read(ours, { key }).key, key);
    const other = Buffer.from("other");
    assert.equal(read(keyless, { key: other }).key, other);
  });

  it("represents a whole batch that was not read", () => {
    const skippedBatch = {
      firstOffset: 3,
      lastOffset: 9,
      code: "TOO_LARGE",
      reason: "is too large",
    } as const;
    const { id, code, omitted } = read({}, { value: null, skippedBatch });
    assert.deepEqual([id, code], ["dead-0-9", "OTHER"]);
    assert.match(omitted ?? "", /in a batch that is too large/);
  });

  it("does not parse what is too large for an announcement, and cuts long texts", (t) => {
    const parse = t.mock.method(JSON, "parse");
    const long = "m".repeat(200_000);
    const texts = {
      "__connect.errors.exception.message": long,
      "topicsync.omitted": long,
      "topicsync.details": long,
    };
    const letter = read({ ...ours, ...texts }, { value: null });
    assert.deepEqual([letter.message.length, letter.omitted?.length, letter.details], [10_000, 10_000, []]);
    const value = Buffer.from(`{"externalId":"a","pad":"${long}"}`);
    assert.equal(read(ours, { value }).externalId, undefined);
    assert.equal(read(ours, { key: Buffer.from(long) }).externalId, undefined);
    assert.equal(parse.mock.calls.filter(({ arguments: [text] }) => text.length > 1_000).length, 0);
  });

  it("is shown without its bytes if they are too many", () => {
    const mib = 1024 * 1024;
    const headers = Object.fromEntries(
      Array.from({ length: 40_000 }, (_, at) => [`h${at}`, Buffer.from("v")]),
    );
    for (const letter of [read(ours, { value: Buffer.alloc(5 * mib) }), read({ ...ours, ...headers })]) {
      const view = toDeadLetterView(letter, 1, []);
      assert.deepEqual([view.key, view.value, view.headers], [null, null, []]);
      assert.match(view.omitted ?? "", /^too large to show: the \d+ bytes are at dead-0-9$/);
    }
    const { value, omitted } = toDeadLetterView(read(ours, { value: Buffer.from("v") }), 1, []);
    assert.deepEqual([value, omitted], ["dg==", null]);
  });

  it("has no time if its timestamp is not valid", () => {
    for (const timestamp of ["-1", "soon", "9e99", "253402300800000", "1795621585895000"])
      assert.equal(read(ours, { timestamp }).time, undefined);
  });

  it("finds the external id in the key, or else in the value", () => {
    const value = Buffer.from('{"externalId":"in the value"}');
    const findId = (key: Buffer | null, text: Buffer = value, headers: NamedHeaders = {}) =>
      read({ ...ours, ...headers }, { key, value: text }).externalId;
    assert.equal(findId(Buffer.from("key")), "key");
    assert.equal(findId(null), "in the value");
    for (const text of ["null", "[]", "{", '{"externalId":1}', "\xff"])
      assert.equal(findId(null, Buffer.from(text, "latin1")), undefined);
    assert.equal(findId(Buffer.from([255])), undefined);
  });

  it("finds the external id in every envelope that the sync understands", () => {
    const frame = Buffer.from([0, 0, 0, 0, 5]);
    const bare = { externalId: "a", unknown: "so it was rejected" };
    const notification = { eventType: "TopicCreateEvent", event: { topic: { id: "a" } } };
    const findId = (value: unknown, headers: NamedHeaders = {}, before = Buffer.alloc(0)) =>
      read({ ...ours, ...headers }, { value: Buffer.concat([before, Buffer.from(JSON.stringify(value))]) })
        .externalId;
    assert.equal(read(ours, { key: Buffer.concat([frame, Buffer.from('"a"')]) }).externalId, "a");
    assert.equal(findId(bare, {}, frame), "a");
    assert.equal(findId(notification), "a");
    const deleted = { eventType: "TopicDeleteEvent", event: { topic: { externalId: "a", id: "b" } } };
    assert.equal(findId(deleted), "a");
    const event = { specversion: "1.0", id: "1", source: "s", type: "t" };
    assert.equal(findId({ ...event, data: bare }), "a");
    assert.equal(findId({ ...event, data: notification }), "a");
    const binary = { ce_specversion: "1.0", ce_id: "1", ce_source: "s", ce_type: "t" };
    assert.equal(findId(bare, binary), "a");
  });
});

describe("a dead letter is superseded", () => {
  const source = { topic: "a", partition: 1, offset: 5 };
  const inEpoch = (offset: number, epoch: number, partition = 1, topic = "a") => {
    const at = { kind: "announcement" as const, topic, partition, offset, epoch };
    return [{ externalId: "x", retired: false, by: at, order: at }];
  };
  const by = (offset: number, partition = 1, topic = "a") => inEpoch(offset, 1, partition, topic);
  const isSuperseded = (states: ReturnType<typeof by>) => findLater({ source }, states) !== undefined;

  it("by a later offset of its own partition only", () => {
    assert.ok(isSuperseded(by(6)));
    for (const states of [by(5), by(4), by(6, 0), by(6, 1, "b"), []]) assert.ok(!isSuperseded(states));
  });

  it("but not by a replay of itself or of an earlier dead letter", () => {
    const replayOf = (offset: number) => by(9).map((one) => ({ ...one, order: { ...one.order, offset } }));
    assert.ok(isSuperseded(replayOf(6)));
    for (const offset of [5, 4]) assert.ok(!isSuperseded(replayOf(offset)));
  });

  it("by any offset of a later epoch, and by none of an earlier one", () => {
    assert.ok(isSuperseded(inEpoch(0, 2)));
    const later = { source: { ...source, epoch: 2 } };
    assert.equal(findLater(later, by(100)), undefined);
    assert.equal(findLater(later, inEpoch(4, 2)), undefined);
    assert.ok(findLater(later, inEpoch(6, 2)));
    assert.ok(findLater(later, inEpoch(0, 3)));
  });
});

describe("the outcome of a replay", () => {
  const sentTo = { topic: "a", partition: 0, offset: 7 };
  const replay: Replay = { deadLetterId: "a-0-1", attempt: 1, startedAt: new Date(), state: "sent", sentTo };
  async function outcome(nextOffset: number, given = replay, letters: string[] = [], epoch = 1) {
    const record: LogRecord = { offset: 0, timestamp: "0", key: null, value: null, headers: [] };
    const any = summarize(
      "dead",
      { partition: 0, record },
      { identify: () => undefined, proofKey: "any", findNamespace: () => undefined, rank: 0 },
    );
    const stored = letters.map((id) => ({ ...any, id, code: "KEY_MISMATCH" as const, copies: 1 }));
    const found = await findReplays(["a-0-1"], [{ topic: "a", partition: 0, offset: nextOffset, epoch }], {
      replays: { find: () => Promise.resolve([given]) },
      letters: { find: (ids) => Promise.resolve(stored.filter(({ id }) => ids.includes(id))) },
    });
    return found.get("a-0-1")?.[0]?.outcome;
  }

  it("is known once the sync is past it", async () => {
    assert.deepEqual(await outcome(7), { status: "pending" });
    assert.deepEqual(await outcome(8), { status: "applied" });
    const deadLetterId = "a-0-7";
    assert.deepEqual(await outcome(8, replay, [deadLetterId]), {
      status: "rejected",
      code: "KEY_MISMATCH",
      deadLetterId,
    });
    assert.deepEqual(await outcome(8, { ...replay, state: "sending" }), { status: "unknown" });
  });

  it("is known only for the epoch that it was sent in", async () => {
    const second = { ...replay, sentTo: { ...sentTo, epoch: 2 } };
    assert.deepEqual(await outcome(100, second), { status: "pending" });
    assert.deepEqual(await outcome(7, second, [], 2), { status: "pending" });
    assert.deepEqual(await outcome(8, second, ["a-0-7"], 2), { status: "applied" });
    const deadLetterId = "a-0-7-2";
    assert.deepEqual(await outcome(8, second, [deadLetterId], 2), {
      status: "rejected",
      code: "KEY_MISMATCH",
      deadLetterId,
    });
    // The first epoch is over: whether the sync reached it is unknown, unless it was rejected.
    assert.deepEqual(await outcome(3, replay, [], 2), { status: "unknown" });
    assert.equal((await outcome(3, replay, ["a-0-7"], 2))?.status, "rejected");
  });
});
