import assert from "node:assert/strict";
import { it } from "node:test";

import kafkajs, { type Consumer } from "kafkajs";

import { ConfigurationError } from "@topicsync/lib/errors";
import { InvariantError } from "@topicsync/lib/invariant";
import { createLogger } from "@topicsync/lib/logger";
import { KafkaMember } from "../consumer.ts";
import { loadPrivate } from "../workarounds/patch.ts";
import type { GroupListener, Partition } from "../interface/records.ts";
import { until } from "../../../test/support/poll.ts";

type LockClass = new (options: { readonly timeout: number }) => { acquire(): Promise<void> };
type Retry = (options: { readonly retries: number }) => (attempt: () => Promise<void>) => Promise<void>;

const { createErrorFromCode } = loadPrivate("protocol/error") as {
  readonly createErrorFromCode: (code: number) => Error;
};

const log = await createLogger("silent");

/** A member whose consumer answers without a broker. */
function createScene({
  onCommit,
  ...options
}: {
  readonly commitsOffsets: boolean;
  /** Answers a commit, the first one with 1; undefined: never. */
  readonly onCommit?: (count: number) => Promise<void>;
}) {
  const listeners = new Map<string, (event: object) => void>();
  const counts = { runs: 0, commits: 0, disconnects: 0 };
  const sought: object[] = [];
  const commits: string[] = [];
  const consumer = {
    events: {
      GROUP_JOIN: "join",
      HEARTBEAT: "heartbeat",
      STOP: "stop",
      CRASH: "crash",
      REQUEST_TIMEOUT: "timeout",
    },
    on: (event: string, listener: (event: object) => void) => listeners.set(event, listener),
    connect: () => Promise.resolve(),
    subscribe: () => Promise.resolve(),
    commitOffsets(offsets: readonly { readonly partition: number; readonly offset: string }[]) {
      counts.commits += 1;
      commits.push(offsets.map(({ partition, offset }) => `${partition}: ${offset}`).join());
      return onCommit?.(counts.commits) ?? Promise.withResolvers<undefined>().promise;
    },
    pause: (partitions: readonly object[]) => sought.push({ paused: partitions }),
    seek: (position: object) => sought.push(position),
    disconnect() {
      counts.disconnects += 1;
      return Promise.resolve();
    },
    run() {
      counts.runs += 1;
      return Promise.resolve();
    },
  };
  const kafka = Object.assign(new kafkajs.Kafka({ brokers: ["unused:9092"] }), {
    consumer: () => consumer as unknown as Consumer,
  });
  const member = new KafkaMember(
    { kafka, dropConnection: () => undefined, close: () => undefined },
    { groupId: "group", topic: "topic", ...options, log },
  );
  const died: Error[] = [];
  const listener: GroupListener = {
    onAssigned: () => undefined,
    onBatch: () => Promise.resolve(),
    onDenied: () => undefined,
    onDied: (reason) => died.push(reason),
  };
  const emit = (event: string, payload: object): void => listeners.get(event)?.({ payload });
  return { member, listener, emit, counts, commits, sought, died };
}

/** Runs a member, lets its consumer crash, and returns how often it ran and what it died of. */
async function crash(error: unknown) {
  const { member, listener, emit, counts, died } = createScene({ commitsOffsets: false });
  await member.run(listener);
  emit("crash", { error, groupId: "group", restart: false });
  await until("the member ran again or died", () => counts.runs === 2 || died.length > 0);
  await member.stop();
  return { runs: counts.runs, died };
}

/** As kafkajs throws it while a running member joins again (consumer/runner.js). */
async function wrap(error: Error): Promise<unknown> {
  const createRetry = loadPrivate("retry/index.js") as Retry;
  return createRetry({ retries: 0 })(() => Promise.reject(error)).catch((wrapped: unknown) => wrapped);
}

// The types do not have its argument.
const outage = Reflect.construct(kafkajs.KafkaJSGroupCoordinatorNotFound, ["no coordinator"]) as Error;

it("joins again after an outage of the group's coordinator", async () => {
  assert.deepEqual(await crash(outage), { runs: 2, died: [] });
  const wrapped = await wrap(outage);
  assert.ok(!(wrapped instanceof kafkajs.KafkaJSGroupCoordinatorNotFound));
  assert.deepEqual(await crash(wrapped), { runs: 2, died: [] });
});

it("joins again after a connection was not set up in time", async () => {
  const Lock = loadPrivate("utils/lock.js") as LockClass;
  const lock = new Lock({ timeout: 1 });
  await lock.acquire();
  const timeout: unknown = await lock.acquire().catch((error: unknown) => error);
  assert.ok(timeout instanceof Error);
  assert.deepEqual(await crash(await wrap(timeout)), { runs: 2, died: [] });
});

it("joins again after an error code of Kafka, and names what keeps it from joining at first", async () => {
  for (const code of [-1, 106]) {
    const error = createErrorFromCode(code);
    assert.deepEqual(await crash(error), { runs: 2, died: [] });
    assert.deepEqual(await crash(await wrap(error)), { runs: 2, died: [] });
  }
  for (const [code, pattern] of [
    [23, /INCONSISTENT_GROUP_PROTOCOL.*another name/],
    [26, /INVALID_SESSION_TIMEOUT.*allow 10000 ms/],
  ] as const) {
    const { runs, died } = await crash(createErrorFromCode(code));
    assert.equal(runs, 1);
    assert.ok(died[0] instanceof ConfigurationError);
    assert.match(died[0].message, pattern);
  }
});

it("dies of every other error", async () => {
  const error = new kafkajs.KafkaJSNonRetriableError("unexpected");
  assert.deepEqual(await crash(error), { runs: 1, died: [error] });
});

it("stops although the last commit of offsets gets no response", async () => {
  const { member, listener, emit, counts } = createScene({ commitsOffsets: true });
  await member.run(listener);
  emit("join", { memberAssignment: { topic: [0] } });
  member.commit({ topic: "topic", partition: 0 }, 1);
  await member.stop();
  assert.deepEqual([counts.commits, counts.disconnects], [1, 1]);
});

it("commits an offset until that has succeeded, and never an older one after it", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { member, listener, emit, commits } = createScene({
    commitsOffsets: true,
    onCommit(count) {
      if (count < 3) return Promise.reject(new Error(count === 1 ? "no coordinator" : "too slow"));
      // The next batch is stored in between.
      if (count === 3) member.commit(first, 3);
      return Promise.resolve();
    },
  });
  const [first, second] = [0, 1].map((partition) => ({ topic: "topic", partition })) as [
    Partition,
    Partition,
  ];
  const nextCommits = async (): Promise<readonly string[]> => {
    t.mock.timers.tick(1_000);
    await new Promise((resolve) => void setImmediate(resolve));
    return commits.splice(0);
  };
  await member.run(listener);
  emit("join", { memberAssignment: { topic: [0, 1] } });
  member.commit(first, 1);
  member.commit(second, 7);
  assert.deepEqual(await nextCommits(), ["0: 1,1: 7"]);
  member.commit(first, 2);
  assert.deepEqual(await nextCommits(), ["0: 2,1: 7"]);
  assert.deepEqual(await nextCommits(), ["0: 2,1: 7"]);
  assert.deepEqual(await nextCommits(), ["0: 3"]);
  assert.deepEqual(await nextCommits(), []);
  member.commit(first, 4);
  await member.stop();
  assert.deepEqual(commits, ["0: 4"]);
});

it("seeks in its own partitions only, and in none outside the group", async () => {
  const { member, listener, emit, sought } = createScene({ commitsOffsets: false });
  const [own, other] = [0, 1].map((partition) => ({ topic: "topic", partition })) as [Partition, Partition];
  await member.run(listener);
  member.seek(own, 1);
  emit("join", { memberAssignment: { topic: [0] } });
  member.seek(own, 2);
  member.pause(other);
  assert.throws(() => {
    member.seek(other, 3);
  }, InvariantError);
  emit("stop", {});
  member.seek(other, 4);
  assert.deepEqual(sought, [{ topic: "topic", partition: 0, offset: "2" }]);
  await member.stop();
});

it("a member that is stopped while it connects or joins leaves nothing running", async () => {
  const { member, listener, counts } = createScene({ commitsOffsets: true });
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  const running = member.run(listener);
  await member.stop();
  await running;
  assert.deepEqual({ runs: counts.runs, disconnects: counts.disconnects }, { runs: 0, disconnects: 2 });

  const joining = createScene({ commitsOffsets: true });
  const joined = joining.member.run(joining.listener);
  await until("the member joins", () => joining.counts.runs === 1);
  await Promise.all([joining.member.stop(), joined]);
  assert.equal(timers(), before);
});
