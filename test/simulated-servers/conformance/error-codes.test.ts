/** Neither an error code nor a lost leader ends a member of a group, and each stops only what it concerns. */
import assert from "node:assert/strict";
import { it } from "node:test";

import type { GroupMember } from "@topicsync/kafka";
import { startOfTime } from "../platform.ts";
import type { InjectedError } from "../kafka/connections.ts";
import type { MessageName } from "../wire/messages.ts";
import { onStage, type Stage } from "./simulated-kafka.ts";

const topic = "announcements";
const unknownCodes = [-1, ...Array.from({ length: 31 }, (_, index) => 100 + index)];

/** Runs a member, and notes what it is given. */
async function startMember({ connect }: Stage) {
  const broker = await connect();
  const member: GroupMember = broker.createMember({ topic, groupId: "readers", commitsOffsets: true });
  const delivered: string[] = [];
  const failures: string[] = [];
  const died: Error[] = [];
  await member.run({
    onAssigned: () => undefined,
    onBatch(batch) {
      const { partition } = batch.partition;
      if (batch.failure !== undefined) failures.push(`${partition}: ${batch.failure.message}`);
      else {
        delivered.push(...batch.records.map(({ value }) => `${partition}: ${String(value)}`));
        batch.advance(batch.end - 1);
      }
      return Promise.resolve();
    },
    onDenied: (error) => died.push(error),
    onDied: (error) => died.push(error),
  });
  return { broker, member, delivered, failures, died };
}

function produce({ cluster }: Stage, partition: number, value: string): void {
  const record = { key: null, value: Buffer.from(value), timestamp: startOfTime, headers: [] };
  cluster.produce(cluster.getPartition(topic, partition), [record]);
}

async function until({ clock, outside }: Stage, isMet: () => boolean): Promise<void> {
  for (const end = clock.getTime() + 500_000; !isMet();) {
    assert.ok(clock.getTime() < end, "it does not happen");
    await new Promise<void>((resolve) => {
      clock.schedule(outside, 10, resolve);
    });
  }
}

for (const [request, of, codes] of [
  ["fetch13", "each", [...unknownCodes, 7, 9, 13, 56, 76]],
  ["fetch13", "all", [...unknownCodes, 70, 71]],
  ["heartbeat3", "all", unknownCodes],
  ["joinGroup5", "all", unknownCodes],
  ["syncGroup3", "all", unknownCodes],
] as const satisfies readonly (readonly [MessageName, InjectedError["of"], readonly number[]])[])
  it(`a member goes on after each error of ${request} (${of})`, async () => {
    const left: number[] = [...codes];
    const onRequest = (name: MessageName): InjectedError | undefined => {
      const code = name === request ? left.shift() : undefined;
      return code === undefined ? undefined : { code, of };
    };
    await onStage(1, { onRequest }, async (stage) => {
      stage.cluster.registry.create({ name: topic, partitions: 1 });
      produce(stage, 0, "first");
      const { member, delivered, died } = await startMember(stage);
      await until(stage, () => died.length > 0 || left.length === 0);
      produce(stage, 0, "last");
      await until(stage, () => died.length > 0 || delivered.includes("0: last"));
      assert.deepEqual(died, []);
      await member.stop();
    });
  });

it("a partition that the broker cannot read does not keep others from being read", async () => {
  let fails = true;
  const onRequest = (name: MessageName): InjectedError | undefined =>
    fails && name === "fetch13" ? { code: -1, of: 0 } : undefined;
  await onStage(2, { onRequest }, async (stage) => {
    stage.cluster.registry.create({ name: topic, partitions: 2 });
    for (const partition of [0, 1]) produce(stage, partition, "a");
    const { member, delivered, failures } = await startMember(stage);
    await until(stage, () => delivered.length > 0 && failures.length > 0);
    assert.deepEqual(delivered, ["1: a"]);
    assert.match(failures[0] ?? "", /^0: Kafka cannot read the partition: The server experienced/);
    fails = false;
    await until(stage, () => delivered.length === 2);
    await member.stop();
  });
});

it("a partition without a leader does not keep others from being read or written", async () => {
  await onStage(3, {}, async (stage) => {
    const { cluster, clock } = stage;
    // A partition that is not copied has no other leader.
    cluster.registry.create({ name: topic, partitions: 2, isCopied: false });
    for (const partition of [0, 1]) produce(stage, partition, "a");
    const { broker, member, delivered } = await startMember(stage);
    await until(stage, () => delivered.length === 2);
    const ms = 300_000;
    cluster.crash(1, { ms, failOverMs: 100 });
    const isBackAt = clock.getTime() + ms;
    // By then, every client has asked for the leaders again.
    await until(stage, () => clock.getTime() > isBackAt - ms / 2);
    assert.equal(cluster.getPartition(topic, 1).leader, -1);
    const producer = broker.createProducer(topic);
    const [sent] = await producer.send([
      { partition: 0, key: null, value: Buffer.from("b"), headers: [], timestamp: undefined },
    ]);
    assert.deepEqual(sent, { partition: 0, offset: 1 });
    await until(stage, () => delivered.includes("0: b"));
    assert.ok(clock.getTime() < isBackAt, "it waited for the other partition");
    await until(stage, () => cluster.getPartition(topic, 1).leader === 1);
    produce(stage, 1, "c");
    await until(stage, () => delivered.includes("1: c"));
    await member.stop();
  });
});
