/** How members share partitions, and what happens to the batches in their hands. */
import type { RecordBatch } from "@topicsync/kafka";
import {
  readOtherPartition,
  startReader,
  toRecords,
  untilAt,
  type KafkaUnderTest,
  type Reader,
  type Scene,
} from "./kafka-under-test.ts";

/** Keeps batches in hand until they are released. */
function createHolder() {
  const held = new Map<number, RecordBatch>();
  const { promise: released, resolve } = Promise.withResolvers<undefined>();
  let isReleased = false;
  return {
    held,
    getHeld(partition: number): RecordBatch {
      const batch = held.get(partition);
      if (batch === undefined) throw new Error(`no batch of partition ${partition} is held`);
      return batch;
    },
    release() {
      isReleased = true;
      resolve(undefined);
    },
    onBatch: async (batch: RecordBatch, reader: Reader): Promise<void> => {
      if (isReleased) {
        reader.take(batch);
        return;
      }
      held.set(batch.partition.partition, batch);
      await released;
    },
  };
}

export const memberScenes: readonly Scene[] = [
  {
    name: "members that join and leave",
    partitions: 4,
    async play(kafka) {
      const { topic } = kafka;
      const first = await startReader(kafka);
      const alone = first.getAssigned().toSorted();
      const joinSecond = async () => {
        const second = await startReader(kafka);
        await kafka.until(
          "the partitions are shared",
          () => first.getAssigned().length === 2 && second.getAssigned().length === 2,
        );
        const all = [...first.getAssigned(), ...second.getAssigned()];
        return { second, all: all.toSorted() };
      };
      first.member.pause({ topic, partition: 0 });
      const { second, all } = await joinSecond();
      await second.stop();
      await kafka.until("the first has all partitions", () => first.getAssigned().length === 4);
      // A partition stays paused, although another member had it in between.
      await kafka.append(0, toRecords("a"));
      await readOtherPartition(kafka, first);
      const whilePaused = first.takeDelivered(0);
      first.member.resume({ topic, partition: 0 });
      await untilAt(kafka, first, 1);
      return { alone, all, whilePaused, resumed: first.takeDelivered(0), again: (await joinSecond()).all };
    },
  },
  {
    name: "a member without a partition",
    partitions: 1,
    async play(kafka) {
      await kafka.append(0, toRecords("a"));
      const members = [await startReader(kafka), await startReader(kafka)];
      const getSizes = (): readonly number[] =>
        members.map((member) => member.getAssigned().length).toSorted();
      await kafka.until("one of them has the partition", () => getSizes().join() === "0,1");
      const owner = members.find((member) => member.getAssigned().length === 1);
      const idle = members.find((member) => member !== owner);
      await owner?.stop();
      await kafka.until("the other has it", () => idle?.getAssigned().length === 1);
      await kafka.until("the other has read it", () => idle?.getPosition(0) === 1);
      return idle?.takeDelivered(0);
    },
  },
  {
    name: "a rebalance while batches of two partitions are in hand",
    partitions: 2,
    async play(kafka) {
      for (const partition of [0, 1]) await kafka.append(partition, toRecords("a", "b"));
      const holder = createHolder();
      const first = await startReader(kafka, holder.onBatch);
      await kafka.until("both batches are in hand", () => holder.held.size === 2);
      const [one, other] = [holder.getHeld(0), holder.getHeld(1)];
      const before = [one.isCurrent(), await one.heartbeat(), other.isCurrent(), await other.heartbeat()];
      const starting = startReader(kafka);
      await kafka.until("a heartbeat fails", async () => !(await one.heartbeat()));
      const noticed = [one.isCurrent(), other.isCurrent(), await one.heartbeat()];
      const otherNoticed = [await other.heartbeat(), other.isCurrent()];
      holder.release();
      const second = await starting;
      await kafka.until("each has a partition", () => first.getAssigned().length === 1);
      const [mine = -1, theirs = -1] = [...first.getAssigned(), ...second.getAssigned()];
      await untilAt(kafka, first, 2, mine);
      await untilAt(kafka, second, 2, theirs);
      const after = [first.takeDelivered(mine), second.takeDelivered(theirs)];
      return { before, noticed, otherNoticed, after };
    },
  },
  {
    name: "a member that stops while a batch is in hand",
    partitions: 1,
    async play(kafka) {
      await kafka.append(0, toRecords("a", "b"));
      const holder = createHolder();
      const first = await startReader(kafka, holder.onBatch);
      await kafka.until("a batch is in hand", () => holder.held.size === 1);
      const batch = holder.getHeld(0);
      let hasStopped = false;
      const stopping = first.stop().then(() => {
        hasStopped = true;
      });
      const during = await batch.heartbeat();
      await kafka.until("the batch is no longer current", () => !batch.isCurrent());
      // More would take a busy broker as long as the product waits for a batch when it stops.
      for (let round = 0; round < 2; round += 1) await kafka.watch.fetchLog(0);
      const stoppedEarly = hasStopped;
      holder.release();
      await stopping;
      const second = await startReader(kafka);
      await untilAt(kafka, second, 2);
      return { during, stoppedEarly, after: second.takeDelivered(0) };
    },
  },
  {
    name: "a connection that is lost while a batch is in hand",
    partitions: 1,
    async play(kafka) {
      await kafka.append(0, toRecords("a", "b"));
      const holder = createHolder();
      const reader = await startReader(kafka, holder.onBatch);
      await kafka.until("a batch is in hand", () => holder.held.size === 1);
      const batch = holder.getHeld(0);
      kafka.setConnected(false);
      await kafka.until("a heartbeat fails", async () => !(await batch.heartbeat()));
      kafka.setConnected(true);
      const isCurrent = batch.isCurrent();
      holder.release();
      await untilAt(kafka, reader, 2);
      return { isCurrent, assignments: reader.countAssignments(), delivered: reader.takeDelivered(0) };
    },
  },
  {
    name: "pause, seek and resume during a batch",
    partitions: 2,
    async play(kafka) {
      const { topic } = kafka;
      const partition = { topic, partition: 0 };
      const notes: unknown[] = [];
      await kafka.append(0, toRecords("a", "b", "c"));
      let batches = 0;
      const reader = await startReader(kafka, (batch, { take, member }) => {
        if (batch.partition.partition === 1) {
          take(batch);
          return;
        }
        batches += 1;
        const first = batch.records[0]?.offset;
        switch (batches) {
          case 1:
            // A paused batch stays current, and is delivered again unless it is advanced.
            member.pause(partition);
            notes.push(["paused", first, batch.isCurrent()]);
            break;
          case 2:
            // A seek makes the batch outdated, and outweighs what it advances then.
            member.seek(partition, 1);
            notes.push(["sought", first, batch.isCurrent()]);
            batch.advance(2);
            break;
          case 3:
            member.pause(partition);
            member.seek(partition, 2);
            member.resume(partition);
            notes.push(["all three", first, batch.isCurrent()]);
            break;
          default:
            notes.push(["at last", first, batch.isCurrent()]);
            take(batch);
        }
      });
      await kafka.until("the first batch has come", () => batches === 1);
      await readOtherPartition(kafka, reader);
      notes.push(["batches while paused", batches]);
      reader.member.resume(partition);
      await untilAt(kafka, reader, 3);
      return { notes, delivered: reader.takeDelivered(0) };
    },
  },
  {
    name: "an advance to the middle of a batch, and none at all",
    partitions: 1,
    async play(kafka) {
      await kafka.append(0, toRecords("a", "b", "c"));
      const aborted = await kafka.begin(0);
      await aborted.append(toRecords("d"));
      await aborted.end(false);
      await kafka.append(0, toRecords("e"));
      const firsts: (number | undefined)[] = [];
      const reader = await startReader(kafka, (batch, { take }) => {
        const first = batch.records[0]?.offset ?? 0;
        const isRepeated = firsts.at(-1) === first;
        firsts.push(first);
        if (isRepeated) take(batch, batch.records.length === 1 ? batch.end : first + 1);
      });
      await untilAt(kafka, reader, 6);
      return { firsts, delivered: reader.takeDelivered(0) };
    },
  },
  {
    name: "a member that loses the response with its partitions",
    partitions: 4,
    async play(kafka) {
      const first = await startReader(kafka);
      kafka.loseSync();
      const starting = startReader(kafka);
      await kafka.until("the response is lost", () => kafka.hasLostSync());
      const second = await starting;
      await untilShared(kafka, [first, second], 4);
      return readAll(kafka, [first, second], 4);
    },
  },
  {
    name: "partitions that are added while members run",
    partitions: 1,
    async play(kafka) {
      const members = [await startReader(kafka), await startReader(kafka)];
      await untilShared(kafka, members, 1);
      await kafka.grow(4);
      // Before the members know of them.
      for (const partition of [1, 2, 3]) await kafka.append(partition, toRecords("early"));
      await untilShared(kafka, members, 4);
      return readAll(kafka, members, 4);
    },
  },
];

/** Waits until members have all partitions, and each of them its share. */
const untilShared = (
  { until }: KafkaUnderTest,
  members: readonly Reader[],
  partitions: number,
): Promise<void> =>
  until("the partitions are shared", () => {
    const sizes = members.map((member) => member.getAssigned().length);
    const all = new Set(members.flatMap((member) => member.getAssigned()));
    return all.size === partitions && Math.max(...sizes) - Math.min(...sizes) <= 1;
  });

/**
 * Appends a record to each partition; returns what was delivered. A record may be delivered to both members.
 */
async function readAll(kafka: KafkaUnderTest, members: readonly Reader[], partitions: number) {
  const delivered: (readonly string[])[] = [];
  for (let partition = 0; partition < partitions; partition += 1) {
    await kafka.append(partition, toRecords("last"));
    const { high } = await kafka.watch.fetchLog(partition);
    await kafka.until(`partition ${partition} is read`, () =>
      members.some((member) => member.getPosition(partition) === high),
    );
    delivered.push([...new Set(members.flatMap((member) => member.takeDelivered(partition)))]);
  }
  return delivered;
}
