import type { Db } from "mongodb";

import { toInstallationRecord } from "../../src/storage/installation-records.ts";
import { collections } from "../../src/storage/names.ts";
import { newId } from "../../src/lib/sys-id.ts";
import { application, httpService, platform, serviceUser } from "../http/contestants.ts";
import { findLoadGenerator, type Answers } from "../http/load.ts";
import { randomToken } from "../http/request.ts";
import { whileServing } from "../http/serving.ts";
import { readMemory, readProcessorTime } from "../support/process-usage.ts";
import { progress, type Report } from "../support/report.ts";
import { inArena, type BenchStack } from "../support/stack.ts";

/** Inserted at once while the collection is filled. */
const recordsABulk = 2_000;
const bulksAtOnce = 4;

interface Found extends Answers {
  readonly store: string;
  readonly stored: number;
  /** Of the service, for each registration; microseconds. */
  readonly processorTime: number;
  /** Resident; MB. */
  readonly memory: number;
}

/**
 * Measures registrations per second of new tokens for different numbers of stored installations, on each
 * store.
 */
export async function measureInstallations(
  stack: BenchStack,
  { installations: sizes, seconds }: { readonly installations: readonly number[]; readonly seconds: number },
): Promise<Report> {
  const generator = await findLoadGenerator(stack.toolsFolder);
  const found: Found[] = [];
  for (const store of stack.stores) {
    await inArena(stack, { store, topic: "bench.installations" }, (arena, db) =>
      whileServing(httpService, arena, async ({ url, pid }) => {
        const load = { url, template: httpService.template, folder: arena.folder, connections: 64 };
        await generator.run({ ...load, seconds: 5 });
        for (const size of sizes) {
          await fill(db, size);
          const before = readProcessorTime(pid);
          const answers = await generator.run({ ...load, seconds });
          const processorTime = (readProcessorTime(pid) - before) / answers.accepted;
          const memory = readMemory(pid, "VmRSS");
          found.push({ store: store.description, stored: size, ...answers, processorTime, memory });
          progress(`${store.description}: ${size} stored, ${Math.round(answers.perSecond)}/s`);
        }
      }),
    );
  }
  return {
    title: "installations",
    head: [
      "store",
      "stored",
      "new ones a second",
      "p50, ms",
      "p99, ms",
      "failed",
      "CPU each, µs",
      "memory, MB",
    ],
    rows: found.map((one) => [
      ...[one.store, one.stored, Math.round(one.perSecond), one.p50.toFixed(1), one.p99.toFixed(0)],
      ...[one.refused + one.broken, one.processorTime.toFixed(0), one.memory],
    ]),
    notes: [`One instance, 64 connections, ${seconds} s at each size; ${generator.name}.`],
    data: found,
  };
}

/** Adds installations of other users until the given number is stored. */
async function fill(db: Db, size: number): Promise<void> {
  const records = db.collection<{ _id: string }>(collections.installations);
  let next = await records.estimatedDocumentCount();
  const now = new Date();
  const record = (number: number): { _id: string } => ({
    ...toInstallationRecord({
      ...{ id: newId(), application, platform, token: randomToken(), user: `${serviceUser.name}-${number}` },
      ...{ active: true, createdOn: now, updatedOn: now, lastSeenOn: now, previousOwners: [] },
      ...{ deactivatedOn: undefined, deactivatedReason: undefined },
    }),
  });
  const insertRest = async (): Promise<void> => {
    while (next < size) {
      const first = next;
      const count = Math.min(recordsABulk, size - first);
      next += count;
      const bulk = Array.from({ length: count }, (_, i) => record(first + i));
      await records.insertMany(bulk, { ordered: false });
      if (next % 500_000 < recordsABulk) progress(`${next} installations stored`);
    }
  };
  await Promise.all(Array.from({ length: bulksAtOnce }, insertRest));
}
