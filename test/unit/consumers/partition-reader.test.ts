import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";

import { KafkaUnavailableError } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import { replacePlatform, systemPlatform } from "@topicsync/lib/platform";
import type { Position } from "@topicsync/kafka";
import { until } from "../../support/poll.ts";
import { createBatch, createRecords, createScene } from "./reader-scene.ts";

describe("the reader of a partition", () => {
  it("starts at its position, and moves it with each batch", async (t) => {
    const { reader, seeks, written } = await createScene(t);
    await reader.batch(createBatch(10));
    await reader.batch(createBatch(11));
    assert.deepEqual(seeks, [10]);
    assert.deepEqual(written, [
      [10, { offset: 11, epoch: 1, topicId: "one" }],
      [11, { offset: 12, epoch: 1, topicId: "one" }],
    ]);
  });

  it("pauses when a batch fails, and says whether that is an outage or an error", async (t) => {
    for (const [error, cause] of [
      [new KafkaUnavailableError("away"), "outage"],
      [new SyntaxError("not a number"), "error"],
    ] as const) {
      const { reader } = await createScene(t, { write: () => Promise.reject(error) });
      await reader.batch(createBatch(10));
      const { state, reason, cause: found } = reader.status();
      assert.deepEqual([state, reason, found], ["paused", error.message, cause]);
    }
  });

  it("pauses when Kafka cannot read its partition, and claims it again", async (t) => {
    const { reader, state, written, untilReading } = await createScene(t);
    const failure = new KafkaUnavailableError("cannot be read");
    await reader.batch(createBatch(10, { records: [], failure }));
    const { state: shown, reason, cause } = reader.status();
    assert.deepEqual([shown, reason, cause], ["paused", "cannot be read", "outage"]);
    await untilReading();
    assert.equal(state.claims, 2);
    assert.deepEqual(written, []);
  });

  it("says that it does not read while its process is out of the group", async (t) => {
    const { reader, state } = await createScene(t);
    state.isInGroup = false;
    const { state: shown, reason, cause } = reader.status();
    assert.deepEqual(
      [shown, reason, cause],
      ["paused", "this process is not in the consumer group", "outage"],
    );
    state.isInGroup = true;
    assert.equal(reader.status().state, "reading");
  });

  it("notices while nothing arrives that its partition has no leader", async (t) => {
    const idleCheckMs = 20_000;
    const checks: (() => void)[] = [];
    const platform = replacePlatform({
      ...systemPlatform,
      schedule(ms, action) {
        if (ms !== idleCheckMs) return systemPlatform.schedule(ms, action);
        checks.push(action);
        return () => undefined;
      },
    });
    t.after(() => replacePlatform(platform));
    const { reader, shown, untilReading } = await createScene(t);
    shown.outage = new KafkaUnavailableError("the partition has no leader");
    await until("it is paused", () => {
      checks.pop()?.();
      return reader.status().reason === "the partition has no leader";
    });
    delete shown.outage;
    await untilReading();
  });

  it("moves its position over markers, aborted records and what compaction removed", async (t) => {
    const { reader, written, applied } = await createScene(t);
    await reader.batch(createBatch(10, { records: [], end: 14 }));
    await reader.batch(createBatch(14, { records: createRecords(16), end: 19 }));
    assert.deepEqual([written.map(([, { offset }]) => offset), applied], [[14, 19], [16]]);
  });

  it("moves its position at once when Kafka has lost records before it", async (t) => {
    const { reader, written, applied, shown, state, untilReading } = await createScene(t);
    shown.log = { ...shown.log, high: 7 };
    await reader.batch(createBatch(10, { isOutOfRange: true }));
    await untilReading();
    await until("the position is moved", () => written.length > 0);
    assert.deepEqual([written, applied], [[[10, { offset: 7, epoch: 3, topicId: "one" }]], []]);
    // The log has grown to the former position: nothing shows that its records are new.
    shown.log = { ...shown.log, high: 12 };
    reader.deny(new Error("no right"));
    await until("it is claimed again", () => state.claims === 3);
    await untilReading();
    assert.equal(reader.status().offset, 7);
  });

  for (const isAtEnd of [true, false])
    it(`takes the next batch ${isAtEnd ? "after" : "during"} the write of one ${isAtEnd ? "at" : "before"} the end of the log`, async (t) => {
      const write = Promise.withResolvers<undefined>();
      const { reader } = await createScene(t, { write: () => write.promise });
      let isTaken = false;
      const handled = reader.batch(createBatch(10, { isAtEnd })).then(() => (isTaken = true));
      await setImmediate();
      assert.equal(isTaken, !isAtEnd);
      write.resolve(undefined);
      await handled;
    });

  it("writes and seeks nothing once it is closed", async (t) => {
    const { reader, seeks, written } = await createScene(t);
    await reader.close();
    await reader.batch(createBatch(10));
    await reader.batch(createBatch(3));
    assert.deepEqual([seeks, written], [[10], []]);
  });

  it("leaves a batch that was requested before its last seek, and seeks again", async (t) => {
    const { reader, seeks, written } = await createScene(t);
    await reader.batch(createBatch(12));
    await reader.batch(createBatch(0, { records: createRecords(10), end: 11 }));
    assert.deepEqual([seeks, written], [[10, 10, 10], []]);
    await reader.batch(createBatch(10));
    assert.equal(written.length, 1);
  });

  it("leaves the rest of a fetch once a part of it was claimed again", async (t) => {
    const rest = Promise.withResolvers<boolean>();
    let writes = 0;
    const applied: (readonly number[])[] = [];
    const { reader, untilReading } = await createScene(t, {
      maxRecordsPerWrite: 1,
      write: ({ records }) => {
        writes += 1;
        if (writes === 1) return Promise.reject(new Error("the write fails"));
        applied.push(records.map(({ offset }) => offset));
        return Promise.resolve();
      },
    });
    // The heartbeat after the first part takes longer than the claim that its failure leads to. The seek is
    // taken by a request to another broker, so kafkajs calls the batch current again.
    const handled = reader.batch(
      createBatch(10, {
        records: createRecords(10, 11),
        end: 12,
        heartbeat: () => (writes === 1 ? rest.promise : Promise.resolve(true)),
      }),
    );
    await until("the write failed", () => reader.status().state === "paused");
    await untilReading();
    rest.resolve(true);
    await handled;
    assert.deepEqual(applied, []);
    await reader.batch(createBatch(10, { records: createRecords(10, 11), end: 12 }));
    assert.deepEqual(applied, [[10], [11]]);
  });

  it("looks its position up again if the log does not have its offset", async (t) => {
    const { reader, shown, seeks, state, untilReading } = await createScene(t);
    shown.log = { ...shown.log, low: 15 };
    await reader.batch(createBatch(10, { isOutOfRange: true, records: [] }));
    await untilReading();
    assert.deepEqual([seeks, state.claims], [[10, 15], 2]);
  });

  it("begins a new epoch if what it fetches is of another log, and applies nothing of it before", async (t) => {
    const { reader, shown, seeks, written, applied, untilReading } = await createScene(t);
    shown.log = { ...shown.log, topicId: "two", high: 12 };
    await reader.batch(createBatch(10, { topicId: "two" }));
    await untilReading();
    assert.deepEqual(seeks, [10, 0]);
    await reader.batch(createBatch(0, { topicId: "two" }));
    assert.deepEqual(written, [
      [10, { offset: 0, epoch: 2, topicId: "two" }],
      [0, { offset: 1, epoch: 2, topicId: "two" }],
    ]);
    assert.deepEqual(applied, [0]);
  });

  it("reads on while the leader tells no topic ids, and keeps the one that it knows", async (t) => {
    const { reader, shown, state, written, untilReading } = await createScene(t);
    shown.log = { ...shown.log, topicId: undefined };
    await reader.batch(createBatch(10, { topicId: undefined }));
    await untilReading();
    assert.equal(state.claims, 2);
    await reader.batch(createBatch(10, { topicId: undefined }));
    await until("it is written", () => written.length === 1);
    assert.deepEqual(written, [[10, { offset: 11, epoch: 1, topicId: "one" }]]);
    assert.equal(state.claims, 2);
  });

  it("waits while a broker serves a log that was replaced", async (t) => {
    const { reader, shown, untilReading } = await createScene(t);
    shown.epochs = { one: 1, older: 1 };
    shown.log = { ...shown.log, topicId: "older" };
    await reader.batch(createBatch(10, { topicId: "older" }));
    await until("it is paused", () => reader.status().reason?.includes("was replaced") === true);
    shown.log = { ...shown.log, topicId: "one" };
    await untilReading();
  });

  it("waits in another cluster, without a claim, until a person has set its position", async (t) => {
    const { reader, shown, state, written, seeks, errors, setPosition, untilReading } = await createScene(t);
    setPosition({ offset: 10, epoch: 1, topicId: "one", clusterId: "A" });
    shown.log = { ...shown.log, topicId: "two", clusterId: "B" };
    await reader.batch(createBatch(10, { topicId: "two" }));
    await until("it is paused", () => reader.status().cause === "decision");
    assert.match(reader.status().reason ?? "", /positions set announcements/);
    const { claims, looks } = { ...state };
    await until("it looks again", () => state.looks > looks + 1);
    assert.equal(state.claims, claims);
    assert.equal(errors.length, 1);
    setPosition({ offset: 4, epoch: 2, topicId: "two", clusterId: "B" });
    await untilReading();
    assert.deepEqual([seeks, written], [[10, 4], []]);
  });

  it("begins in another cluster without a decision if nobody has written there, and can return", async (t) => {
    const { reader, shown, written, setPosition, untilReading } = await createScene(t);
    setPosition({ offset: 10, epoch: 1, topicId: "one", clusterId: "A" });
    shown.log = { ...shown.log, high: 0, topicId: "two", clusterId: "B" };
    await reader.batch(createBatch(10, { topicId: "two" }));
    await untilReading();
    // The position is not stored before there is a record.
    shown.log = { ...shown.log, high: 20, topicId: "one", clusterId: "A" };
    await reader.batch(createBatch(0, { topicId: "one" }));
    await untilReading();
    await reader.batch(createBatch(10));
    assert.deepEqual(
      written.map(([from, to]) => [from, to.offset, to.epoch]),
      [[10, 11, 1]],
    );
  });

  it("claims nothing if the group gave its process up while it waited for a decision", async (t) => {
    const decided: Position = { offset: 4, epoch: 2, topicId: "two", clusterId: "B" };
    const waiting: Position = { offset: 10, epoch: 1, topicId: "one", clusterId: "A" };
    let isDecided = false;
    const { reader, shown, state, setPosition, untilReading } = await createScene(t, {
      findPosition() {
        if (isDecided) state.isInGroup = false;
        return Promise.resolve(isDecided ? decided : waiting);
      },
    });
    setPosition(waiting);
    shown.log = { ...shown.log, topicId: "two", clusterId: "B" };
    await reader.batch(createBatch(10, { topicId: "two" }));
    await until("it is paused", () => reader.status().cause === "decision");
    const { claims } = state;
    setPosition(decided);
    isDecided = true;
    await until("it waits", () => reader.status().reason?.includes("consumer group") === true);
    assert.equal(state.claims, claims);
    isDecided = false;
    state.isInGroup = true;
    setPosition(waiting);
    shown.log = { ...shown.log, topicId: "one", clusterId: "A" };
    await untilReading();
  });

  it("claims nothing while its process is out of the group", async (t) => {
    const { reader, state, untilReading } = await createScene(t, {
      write: () => Promise.reject(new Error("the write fails")),
    });
    state.isInGroup = false;
    await reader.batch(createBatch(10));
    await until("it waits", () => reader.status().reason?.includes("consumer group") === true);
    assert.equal(state.claims, 1);
    state.isInGroup = true;
    await untilReading();
    assert.equal(state.claims, 2);
  });

  it("writes the records that its handler left over with the next write", async (t) => {
    const { reader, written, applied } = await createScene(t, {
      prepare: (records) => ({ records: records.slice(0, 2) }),
    });
    await reader.batch(createBatch(10, { records: createRecords(10, 11, 12), end: 14 }));
    assert.deepEqual(
      [written.map(([, { offset }]) => offset), applied],
      [
        [12, 14],
        [10, 11, 12],
      ],
    );
  });

  it("reports once a write that was stored although it failed, and continues if that fails", async (t) => {
    const reported: [position: number, outcome: unknown][] = [];
    const written: number[] = [];
    let position = 10;
    const { reader, untilReading } = await createScene(t, {
      claim: () => Promise.resolve({ offset: position, epoch: 1, topicId: "one", isOurs: true }),
      write: (_, { to }, onAttempt) => {
        written.push(to.offset);
        position = to.offset;
        onAttempt("first attempt");
        onAttempt("last attempt");
        return written.length === 1 ? Promise.reject(new Error("no answer")) : Promise.resolve("stored");
      },
      report: (_, outcome) => {
        reported.push([position, outcome]);
        throw new Error("the listener fails");
      },
    });
    await reader.batch(createBatch(10));
    await until("the write failed", () => reader.status().state === "paused");
    await untilReading();
    assert.equal(reader.status().offset, 11);
    // Otherwise it may be reported after the next write has moved the position.
    await until("the write is reported", () => reported.length === 1);
    await reader.batch(createBatch(11));
    await reader.close();
    assert.deepEqual(
      [written, reported],
      [
        [11, 12],
        [
          [11, "last attempt"],
          [12, "stored"],
        ],
      ],
    );
  });

  for (const [what, handler, rule] of [
    [
      "a write finds a broken rule",
      {
        write: () => {
          invariant(false, "a rule");
          return Promise.resolve();
        },
      },
      "a rule",
    ],
    [
      "its handler takes no record",
      { prepare: () => ({ records: [] }) },
      "a batch with records has at least the first of them",
    ],
  ] as const)
    it(`stops the partition until it is assigned again if ${what}`, async (t) => {
      const broken = await createScene(t, handler);
      const failing = await createScene(t, { write: () => Promise.reject(new Error("no invariant")) });
      await Promise.all([broken.reader.batch(createBatch(10)), failing.reader.batch(createBatch(10))]);
      await until("the partition is stopped", () => broken.reader.status().state === "paused");
      // By now, the other one has tried again.
      await until("another failure is retried", () => failing.state.claims === 2);
      await broken.reader.batch(createBatch(10));
      broken.reader.deny(new Error("another reason"));
      const { state, cause, reason } = broken.reader.status();
      assert.deepEqual([state, cause], ["paused", "error"]);
      assert.equal(reason, `stopped until the partition is assigned again: invariant violated: ${rule}`);
      assert.deepEqual([broken.state.claims, broken.written], [1, []]);
      assert.match(broken.errors.join(), /partition stopped by a bug/);
    });

  it("stops the partition if its position would move back", async (t) => {
    const { reader, written } = await createScene(t);
    await reader.batch(createBatch(10, { end: 9, records: [] }));
    await until("the partition is stopped", () => reader.status().state === "paused");
    assert.match(reader.status().reason ?? "", /a position never moves back within an epoch/);
    assert.deepEqual(written, []);
  });
});
