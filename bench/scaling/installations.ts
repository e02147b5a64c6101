import type { Db } from "mongodb";

import { newId } from "@topicsync/lib/sys-id";
import { toInstallationRecord } from "../../src/storage/installations/records.ts";
import { collections } from "../../src/storage/names.ts";
import { application, httpService, platform, serviceUser } from "../http/contestants.ts";
import { findLoadGenerator, type LoadResult } from "../http/load.ts";
import { randomToken } from "../http/request.ts";
import { withServing } from "../http/serving.ts";
import { readMemoryMb, readCpuMicros } from "../support/process-usage.ts";
import { reportProgress, type Report } from "../support/report.ts";
import { withWorkspace, type BenchStack } from "../support/stack.ts";

const recordsPerBulk = 2_000;
const maxConcurrentBulks = 4;

interface Found extends LoadResult {
  readonly store: string;
  readonly stored: number;
  /** CPU time of the service per registration. */
  readonly cpuMicros: number;
  /** Resident memory in MB. */
  readonly memory: number;
}

/** Measures registrations of new tokens at several numbers of stored installations. */
export async function measureInstallations(
  stack: BenchStack,
  { installations: sizes, seconds }: { readonly installations: readonly number[]; readonly seconds: number },
): Promise<Report> {
  const generator = await findLoadGenerator(stack.toolsFolder);
  const found: Found[] = [];
  for (const store of stack.stores) {
    await withWorkspace(stack, { store, topic: "bench.installations" }, (workspace, db) =>
      withServing(httpService, workspace, async ({ url, pid }) => {
        const load = { url, template: httpService.template, folder: workspace.folder, connections: 64 };
        await generator.run({ ...load, seconds: 5 });
        for (const size of sizes) {
          await fill(db, size);
          const before = readCpuMicros(pid);
          const result = await generator.run({ ...load, seconds });
          const cpuMicros = (readCpuMicros(pid) - before) / result.accepted;
          const memory = readMemoryMb(pid, "VmRSS");
          found.push({ store: store.description, stored: size, ...result, cpuMicros: cpuMicros, memory });
          reportProgress(`${store.description}: ${size} stored, ${Math.round(result.perSecond)}/s`);
        }
      }),
    );
  }
  return {
    title: "installations",
    head: [
      "store",
      "stored",
      "new ones/s",
      "p50, ms",
      "p99, ms",
      "failed",
      "CPU per registration, µs",
      "memory, MB",
    ],
    rows: found.map((one) => [
      one.store,
      one.stored,
      Math.round(one.perSecond),
      one.p50.toFixed(1),
      one.p99.toFixed(0),
      one.rejected + one.broken,
      one.cpuMicros.toFixed(0),
      one.memory,
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
  const createRecord = (number: number): { _id: string } => ({
    ...toInstallationRecord({
      id: newId(),
      application,
      platform,
      token: randomToken(),
      user: `${serviceUser.name}-${number}`,
      active: true,
      createdOn: now,
      updatedOn: now,
      lastSeenOn: now,
      previousOwners: [],
      attributes: undefined,
      deactivatedOn: undefined,
      deactivatedReason: undefined,
    }),
  });
  const insertRest = async (): Promise<void> => {
    while (next < size) {
      const first = next;
      const count = Math.min(recordsPerBulk, size - first);
      next += count;
      const bulk = Array.from({ length: count }, (_, i) => createRecord(first + i));
      await records.insertMany(bulk, { ordered: false });
      if (next % 500_000 < recordsPerBulk) reportProgress(`${next} installations stored`);
    }
  };
  await Promise.all(Array.from({ length: maxConcurrentBulks }, insertRest));
}
