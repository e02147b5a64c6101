import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { KafkaUnavailableError } from "@topicsync/lib/errors";
import { replacePlatform } from "@topicsync/lib/platform";
import type { GroupListener, GroupMember } from "@topicsync/kafka";
import { DeadLetterConsumer } from "../../../src/service/kafka/dead-letter-consumer.ts";
import { createDeadLetterReader, createDeadLetterStore } from "../../../src/storage/dead-letters.ts";
import { createDeadLetterProgress } from "../../../src/dead-letters/progress.ts";
import { createLogStore } from "../../../src/storage/logs.ts";
import { connectBroker } from "../../support/broker.ts";
import { connectDatabase } from "../../support/database.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";

const broker = await connectBroker();
const { database, log } = await connectDatabase();

/** A member whose first attempt to join fails, and which the test lets die. */
function createMember() {
  const calls: string[] = [];
  let joined: GroupListener | undefined;
  const member: GroupMember = {
    run(listener) {
      calls.push("run");
      joined = listener;
      return Promise.reject(new KafkaUnavailableError("not yet"));
    },
    isInGroup: () => false,
    pause: () => undefined,
    resume: () => undefined,
    seek: () => undefined,
    commit: () => undefined,
    stop() {
      calls.push("stop");
      return Promise.resolve();
    },
  };
  return { member, calls, die: (error: Error) => joined?.onDied(error) };
}

/** A consumer whose members the test controls, as it does the time. */
function createScene() {
  const timers = new Map<() => void, number>();
  const former = replacePlatform({
    now: Date.now,
    elapsed: () => performance.now(),
    schedule(delayMs, action) {
      timers.set(action, delayMs);
      return () => void timers.delete(action);
    },
    scheduleSoon: () => () => undefined,
    random: () => 0.5,
    fillRandom: () => undefined,
  });
  const [topic, groupId] = [unique("dead-letter"), unique("group")];
  const store = createDeadLetterStore(database, log);
  const read = { topic, groupId, positions: store, letters: createDeadLetterReader(database, topic) };
  const { signal: abort } = new AbortController();
  const progress = createDeadLetterProgress({ ...read, kafka: broker, watch: broker.watch(topic), abort });
  const members: ReturnType<typeof createMember>[] = [];
  const consumer = new DeadLetterConsumer({
    ...{ topic, groupId, store, progress, log },
    broker: {
      createMember() {
        members.push(createMember());
        return (members.at(-1) ?? createMember()).member;
      },
      watch: (of) => broker.watch(of),
      observe: (read) => broker.observe(read),
    },
    logs: createLogStore(database),
    identify: () => undefined,
    getProofKey: () => Promise.resolve(Buffer.alloc(32)),
    consumer: "dead-letters.announcements",
    findNamespace: () => undefined,
  });
  /** Lets this much time pass. */
  function pass(ms: number): void {
    for (const [action, delayMs] of [...timers]) {
      if (delayMs > ms) continue;
      timers.delete(action);
      action();
    }
  }
  return { members, timers, pass, consumer, [Symbol.dispose]: () => void replacePlatform(former) };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a consumer of dead letters", () => {
  it("never starts a member again that has died", async () => {
    using scene = createScene();
    const { members, timers, pass, consumer } = scene;
    await until("the start is to be retried", () => timers.size === 2);
    const [first] = members;
    first?.die(new Error("a bug"));
    await until("it is stopped", () => first?.calls.includes("stop"));
    assert.equal(consumer.failure, "a bug");
    pass(5_000);
    await settle();
    assert.deepEqual(first?.calls, ["run", "stop"]);
    pass(30_000);
    await until("another one is started", () => members[1]?.calls.length === 1);
    await consumer.stop();
    pass(30_000);
    await settle();
    assert.deepEqual(
      members.map(({ calls }) => calls),
      [
        ["run", "stop"],
        ["run", "stop"],
      ],
    );
    assert.deepEqual([...timers.values()], []);
  });
});
