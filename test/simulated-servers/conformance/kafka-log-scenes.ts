/**
 * What is in a log, and what a fetch from any offset brings. How fetches are cut is left to chance, so that
 * no result depends on it. Compaction is left out: a broker looks for something to compact every 15 seconds.
 */
import {
  readOtherPartition,
  startReader,
  toOutgoing,
  toRecords,
  untilAt,
  type KafkaUnderTest,
  type Scene,
} from "./kafka-under-test.ts";

const minuteMs = 60_000;

async function getBounds({ watch }: KafkaUnderTest, partition = 0) {
  const { low, high } = await watch.fetchLog(partition);
  return { low, high };
}

/** Fills partition 0 up to offset 7 with plain records, a committed and an aborted transaction. */
async function appendTransactions(kafka: KafkaUnderTest): Promise<void> {
  await kafka.append(0, [{ value: "a", at: minuteMs }]);
  const committed = await kafka.begin(0);
  await committed.append([{ value: "b", at: 2 * minuteMs }]);
  await committed.end(true);
  const aborted = await kafka.begin(0);
  await aborted.append([
    { value: "c", at: 3 * minuteMs },
    { value: "d", at: 90 * minuteMs },
  ]);
  await aborted.end(false);
  await kafka.append(0, [{ value: "e", at: 4 * minuteMs }]);
}

export const logScenes: readonly Scene[] = [
  {
    name: "plain records",
    partitions: 2,
    async play(kafka) {
      const empty = await getBounds(kafka);
      await kafka.append(0, [
        { value: "a", at: 3 * minuteMs },
        { value: "b", at: minuteMs },
        { value: "c", at: 5 * minuteMs },
      ]);
      await kafka.append(0, [{ value: "d", at: 4 * minuteMs }]);
      await kafka.append(1, toRecords("e"));
      const reader = await startReader(kafka);
      await untilAt(kafka, reader, 4);
      await untilAt(kafka, reader, 1, 1);
      return {
        empty,
        assigned: reader.getAssigned().toSorted(),
        delivered: [reader.takeDelivered(0), reader.takeDelivered(1)],
        bounds: [await getBounds(kafka), await getBounds(kafka, 1)],
      };
    },
  },
  {
    name: "the results of sending",
    partitions: 1,
    play: async ({ send }) => [
      await send([]),
      await send(["a", "b"].map(toOutgoing)),
      await send(["c"].map(toOutgoing)),
    ],
  },
  {
    name: "transactions and their markers",
    partitions: 1,
    async play(kafka) {
      await appendTransactions(kafka);
      const closed = await getBounds(kafka);
      const open = await kafka.begin(0);
      await open.append([{ value: "f", at: 95 * minuteMs }]);
      await kafka.append(0, [{ value: "g", at: 100 * minuteMs }]);
      const reader = await startReader(kafka);
      await untilAt(kafka, reader, 7);
      const during = [await getBounds(kafka), reader.takeDelivered(0)];
      await open.end(true);
      await untilAt(kafka, reader, 10);
      const committed = [await getBounds(kafka), reader.takeDelivered(0)];
      const last = await kafka.begin(0);
      await last.append(toRecords("h"));
      await last.end(false);
      await untilAt(kafka, reader, 12);
      return { closed, during, committed, aborted: [await getBounds(kafka), reader.takeDelivered(0)] };
    },
  },
  {
    name: "a fetch that begins anywhere, also among markers and aborted records",
    partitions: 1,
    async play(kafka) {
      await appendTransactions(kafka);
      const reader = await startReader(kafka);
      await untilAt(kafka, reader, 7);
      const delivered = [reader.takeDelivered(0)];
      for (const from of [6, 5, 4, 3, 2, 1, 0]) {
        reader.seek(0, from);
        await untilAt(kafka, reader, 7);
        delivered.push(reader.takeDelivered(0));
      }
      return delivered;
    },
  },
  {
    name: "a fetch from behind an open transaction",
    partitions: 2,
    async play(kafka) {
      await kafka.append(0, toRecords("a"));
      const open = await kafka.begin(0);
      await open.append(toRecords("b"));
      await kafka.append(0, toRecords("c", "d"));
      const reader = await startReader(kafka);
      await untilAt(kafka, reader, 1);
      reader.takeDelivered(0);
      reader.seek(0, 3);
      await readOtherPartition(kafka, reader);
      const during = [reader.getPosition(0), reader.takeDelivered(0)];
      await open.end(true);
      await untilAt(kafka, reader, 5);
      return { during, after: reader.takeDelivered(0) };
    },
  },
  {
    name: "records that were deleted, and positions outside the log",
    partitions: 1,
    async play(kafka) {
      await kafka.append(0, toRecords("a", "b", "c", "d", "e"));
      await kafka.deleteBefore(0, 2);
      const reader = await startReader(kafka);
      await untilAt(kafka, reader, 5);
      const fromBeginning = [await getBounds(kafka), reader.takeDelivered(0)];
      const jumps: unknown[] = [];
      for (const from of [1, 2, 6, 99]) {
        reader.seek(0, from);
        await untilAt(kafka, reader, 5);
        jumps.push(reader.takeDelivered(0));
      }
      // The end is not outside.
      reader.seek(0, 5);
      await kafka.append(0, toRecords("f"));
      await untilAt(kafka, reader, 6);
      const atEnd = reader.takeDelivered(0);
      await kafka.deleteBefore(0, 6);
      const emptied = await getBounds(kafka);
      reader.seek(0, 3);
      await kafka.append(0, toRecords("g"));
      await untilAt(kafka, reader, 7);
      return { fromBeginning, jumps, atEnd, emptied, last: reader.takeDelivered(0) };
    },
  },
  {
    name: "a topic that is deleted and created again while its partition is paused",
    partitions: 1,
    async play(kafka) {
      const { topic } = kafka;
      const partition = { topic, partition: 0 };
      await kafka.append(0, toRecords("a", "b", "c"));
      const reader = await startReader(kafka);
      await untilAt(kafka, reader, 3);
      const rounds: unknown[] = [reader.takeDelivered(0)];
      for (const [values, end] of [
        [["d", "e"], 2],
        [["f", "g", "h", "i"], 4],
        [["j", "k", "l", "m"], 4],
      ] as const) {
        reader.member.pause(partition);
        await kafka.recreate();
        await kafka.append(0, toRecords(...values));
        const bounds = await getBounds(kafka);
        reader.member.resume(partition);
        if (values[0] === "j") await kafka.append(0, toRecords("n"));
        await untilAt(kafka, reader, values[0] === "j" ? 5 : end);
        rounds.push([bounds, reader.takeDelivered(0)]);
      }
      return rounds;
    },
  },
];
