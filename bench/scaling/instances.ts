import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import kafkajs from "kafkajs";

import { collections } from "../../src/storage/names.ts";
import { service, withContestant } from "../support/contestant.ts";
import { fillTopic, type FilledTopic } from "../support/announcements.ts";
import { readCpuMicros } from "../support/process-usage.ts";
import { median, reportProgress, type Report } from "../support/report.ts";
import { withWorkspace, type Workspace, type BenchStack, type BenchStore } from "../support/stack.ts";

const partitions = 4;

/** Long, because counting takes the store's time. */
const pollIntervalMs = 250;

interface Round {
  readonly instances: number;
  readonly perSecond: number;
  /** CPU time of all instances per announcement. */
  readonly cpuMicros: number;
}

/** Measures announcements per second of several instances that share four partitions. */
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
  const source = await fillTopic(stack.broker.address, "bench.scaling", announcements, { partitions });
  const found: (Round & { readonly store: string })[] = [];
  for (const store of stack.stores) {
    // The first run warms up the store and is not counted.
    await measure(stack, { store, source, count: 1 });
    for (let round = 1; round <= rounds; round += 1) {
      for (const count of instances) {
        const one = await measure(stack, { store, source, count });
        reportProgress(
          `${store.description}, round ${round}: ${count} instances ${Math.round(one.perSecond)}/s`,
        );
        found.push({ store: store.description, ...one });
      }
    }
  }
  return {
    title: "instances",
    head: ["store", "instances", "announcements/s, each round", "÷ one instance", "CPU per announcement, µs"],
    rows: stack.stores.flatMap(({ description }) =>
      instances.map((count) => {
        const own = found.filter((one) => one.store === description && one.instances === count);
        const alone = found.filter((one) => one.store === description && one.instances === instances[0]);
        const getMedianRate = (all: readonly Round[]): number =>
          median(all.map(({ perSecond }) => perSecond));
        return [
          description,
          count,
          own.map(({ perSecond }) => Math.round(perSecond)).join(", "),
          (getMedianRate(own) / getMedianRate(alone)).toFixed(2),
          median(own.map(({ cpuMicros }) => cpuMicros)).toFixed(0),
        ];
      }),
    ),
    notes: [
      `${announcements} announcements in ${partitions} partitions; measured from the assignment of all partitions to the last stored topic. The store, the broker and the instances share the machine.`,
    ],
    data: found,
  };
}

interface Task {
  readonly store: BenchStore;
  readonly source: FilledTopic;
  readonly count: number;
}

const measure = (stack: BenchStack, { store, source, count }: Task): Promise<Round> =>
  withWorkspace(stack, { store, topic: source.topic }, (workspace, db) => {
    const topics = db.collection(collections.topics);
    return withInstances(workspace, count, async (pids) => {
      await waitUntilAssigned(workspace, count);
      const readCpu = (): number => pids.reduce((sum, pid) => sum + readCpuMicros(pid), 0);
      const [timeBefore, before, began] = [
        readCpu(),
        await topics.estimatedDocumentCount(),
        performance.now(),
      ];
      while ((await topics.estimatedDocumentCount()) < source.count) await sleep(pollIntervalMs);
      const seconds = (performance.now() - began) / 1_000;
      const stored = source.count - before;
      return {
        instances: count,
        perSecond: stored / seconds,
        cpuMicros: (readCpu() - timeBefore) / stored,
      };
    });
  });

/** Runs `count` instances in one group until `watch`, called with their process ids, resolves. */
function withInstances<T>(
  workspace: Workspace,
  count: number,
  watch: (pids: readonly number[]) => Promise<T>,
): Promise<T> {
  if (count === 0) return watch([]);
  return withContestant(service, { ...workspace, folder: join(workspace.folder, String(count)) }, ({ pid }) =>
    withInstances(workspace, count - 1, (pids) => watch([...pids, pid])),
  );
}

/** Waits until the group is stable with all instances. */
async function waitUntilAssigned({ brokers, database }: Workspace, count: number): Promise<void> {
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
