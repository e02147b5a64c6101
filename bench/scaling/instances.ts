import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import kafkajs from "kafkajs";

import { collections } from "../../src/storage/names.ts";
import { withContestant } from "../support/contestant.ts";
import { service } from "../support/contestants.ts";
import { fillLog, type Log } from "../support/announcements.ts";
import { readProcessorTime } from "../support/process-usage.ts";
import { median, progress, type Report } from "../support/report.ts";
import { inArena, type Arena, type BenchStack, type BenchStore } from "../support/stack.ts";

const partitions = 4;

/** How often the stored topics are counted: seldom, since counting takes the store's time. */
const lookEveryMs = 250;

interface Round {
  readonly instances: number;
  readonly perSecond: number;
  /** Of all instances, for each announcement; microseconds. */
  readonly processorTime: number;
}

/** Announcements per second of several instances that share four partitions, on each store of the stack. */
export async function measureInstances(
  stack: BenchStack,
  {
    instances,
    announcements,
    rounds,
  }: Readonly<Record<"announcements" | "rounds", number>> & {
    readonly instances: readonly number[];
  },
): Promise<Report> {
  const log = await fillLog(stack.broker.address, "bench.scaling", announcements, partitions);
  const found: (Round & { readonly store: string })[] = [];
  for (const store of stack.stores) {
    // The first of all finds a cold store: it does not count.
    await measure(stack, { store, log, count: 1 });
    for (let round = 1; round <= rounds; round += 1) {
      for (const count of instances) {
        const one = await measure(stack, { store, log, count });
        progress(`${store.description}, round ${round}: ${count} instances ${Math.round(one.perSecond)}/s`);
        found.push({ store: store.description, ...one });
      }
    }
  }
  return {
    title: "instances",
    head: ["store", "instances", "a second, each round", "÷ one instance", "CPU an announcement, µs"],
    rows: stack.stores.flatMap(({ description }) =>
      instances.map((count) => {
        const own = found.filter((one) => one.store === description && one.instances === count);
        const alone = found.filter((one) => one.store === description && one.instances === instances[0]);
        const rate = (all: readonly Round[]): number => median(all.map(({ perSecond }) => perSecond));
        return [
          description,
          count,
          own.map(({ perSecond }) => Math.round(perSecond)).join(", "),
          (rate(own) / rate(alone)).toFixed(2),
          median(own.map(({ processorTime }) => processorTime)).toFixed(0),
        ];
      }),
    ),
    notes: [
      `${announcements} announcements in ${partitions} partitions; from when each instance has its share to the last one stored. The store, the broker and the instances share the machine.`,
    ],
    data: found,
  };
}

interface Task {
  readonly store: BenchStore;
  readonly log: Log;
  readonly count: number;
}

const measure = (stack: BenchStack, { store, log, count }: Task): Promise<Round> =>
  inArena(stack, { store, topic: log.topic }, (arena, db) => {
    const topics = db.collection(collections.topics);
    return withInstances(arena, count, async (pids) => {
      await untilShared(arena, count);
      const time = (): number => pids.reduce((sum, pid) => sum + readProcessorTime(pid), 0);
      const [timeBefore, before, began] = [time(), await topics.estimatedDocumentCount(), performance.now()];
      while ((await topics.estimatedDocumentCount()) < log.count) await sleep(lookEveryMs);
      const seconds = (performance.now() - began) / 1_000;
      const stored = log.count - before;
      return {
        instances: count,
        perSecond: stored / seconds,
        processorTime: (time() - timeBefore) / stored,
      };
    });
  });

/** Runs a number of instances in one group until `watch`, which gets their process ids, resolves. */
function withInstances<T>(
  arena: Arena,
  count: number,
  watch: (pids: readonly number[]) => Promise<T>,
): Promise<T> {
  if (count === 0) return watch([]);
  return withContestant(service, { ...arena, folder: join(arena.folder, String(count)) }, ({ pid }) =>
    withInstances(arena, count - 1, (pids) => watch([...pids, pid])),
  );
}

/** Waits until every instance has its share of the partitions. */
async function untilShared({ brokers, database }: Arena, count: number): Promise<void> {
  const admin = new kafkajs.Kafka({
    brokers: brokers.split(","),
    logLevel: kafkajs.logLevel.NOTHING,
  }).admin();
  await admin.connect();
  try {
    for (;;) {
      const { groups } = await admin.describeGroups([database]);
      if (groups[0]?.state === "Stable" && groups[0].members.length === count) return;
      await sleep(50);
    }
  } finally {
    await admin.disconnect();
  }
}
