import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";
import { MongoClient, type Db } from "mongodb";

import { RejectionError } from "@topicsync/lib/errors";
import type { OutgoingRecord, SendResult } from "@topicsync/kafka";
import { sendDeadLetters, type OutgoingDeadLetter } from "../consumers/dead-letter-sender.ts";
import type { DeadLetterRecord } from "../src/storage/dead-letters.ts";
import { ensureIndexes } from "../src/storage/indexes.ts";
import { collections } from "../src/storage/names.ts";
import { httpService } from "./http/contestants.ts";
import { withServing } from "./http/serving.ts";
import { createAnnouncement, openTopic } from "./support/announcements.ts";
import { measureRate } from "./support/contestant.ts";
import { createCommonOptions, parsePositive, type CommonOptions } from "./support/options.ts";
import { readCpuMicros, readMemoryMb } from "./support/process-usage.ts";
import { median, printReports, reportProgress, type Report } from "./support/report.ts";
import {
  startStack,
  withWorkspace,
  type BenchStack,
  type BenchStore,
  type Workspace,
} from "./support/stack.ts";

interface DeadLetterOptions extends CommonOptions {
  readonly letters: number;
}

const defaultLetters = 50_000;
const minGigabytes = 4;
/**
 * The store in memory has each row twice, because of the floor. Neither store has an index for lists: each
 * page sorts all rows. With too small a heap or too many rows, pages time out and bulk writes fail.
 */
const lettersPerGigabyte = 100_000;
const lettersPerRequest = 1_000;
const rowsPerInsertion = 2_000;
const samples = 10;
const pollIntervalMs = 500;
const codes = ["MALFORMED_JSON", "SCHEMA_VIOLATION", "BAD_FILTER", "TOO_LARGE"] as const;
const path = "/api/topicsync/v1/dead-letters";

export const deadLettersCommand = (): Command => {
  const command = new Command("dead-letters").description(
    "dead letters: rows stored per second, compared with a floor (insertMany of these rows), and lists",
  );
  command.option("--letters <n>", "dead letters in the Kafka topic", parsePositive, defaultLetters);
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: DeadLetterOptions) => {
    const gigabytes = Math.max(minGigabytes, Math.ceil(options.letters / lettersPerGigabyte));
    await using stack = await startStack(options.store, { gigabytes });
    const found = await measureDeadLetters(stack, options.letters);
    printReports([toReport(found, options.letters)], stack.broker.description, options);
  });
};

/** How fast rows are stored. */
interface Storing {
  readonly perSecond: number;
  /** CPU time of the store for each row, in microseconds. */
  readonly storeMicros: number;
}

interface Found {
  readonly store: string;
  readonly service: Storing;
  readonly floor: Storing;
  /** CPU time of the service for each row, in microseconds. */
  readonly serviceMicros: number;
  /** Milliseconds. */
  readonly firstPage: number;
  readonly filteredPage: number;
  readonly overview: number;
  readonly firstLine: number;
  readonly lastLine: number;
  /** Peaks of resident memory in MB. */
  readonly serviceMemory: number;
  readonly commandMemory: number;
}

async function measureDeadLetters(stack: BenchStack, count: number): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const store of stack.stores) {
    const topic = `bench.dead-letters.${store.kind}`;
    reportProgress(`sending ${count} dead letters`);
    await fill(stack, topic, count);
    await withWorkspace(stack, { store, topic }, async (workspace, db) => {
      const measured = await measureService(store, workspace, { db, count });
      const floor = await measureFloor(store, db);
      found.push({ store: store.description, ...measured, floor });
    });
  }
  return found;
}

const toReport = (found: readonly Found[], count: number): Report => ({
  title: "dead-letters",
  head: [
    "store",
    "rows/s",
    "÷ floor",
    "CPU per row, µs: service",
    "store",
    "floor's store",
    "page of 50, ms",
    "with a code, ms",
    "slowest overview, ms",
    "list --json: first line, s",
    "all, s",
    "service, MB",
    "command, MB",
  ],
  rows: found.map((one) => [
    one.store,
    Math.round(one.service.perSecond),
    (one.service.perSecond / one.floor.perSecond).toFixed(2),
    one.serviceMicros.toFixed(0),
    one.service.storeMicros.toFixed(0),
    one.floor.storeMicros.toFixed(0),
    one.firstPage.toFixed(0),
    one.filteredPage.toFixed(0),
    one.overview.toFixed(0),
    (one.firstLine / 1_000).toFixed(1),
    (one.lastLine / 1_000).toFixed(1),
    one.serviceMemory,
    one.commandMemory,
  ]),
  notes: [
    `${count} dead letters; medians of ${samples} pages, the counts of all codes included; peaks of resident memory.`,
  ],
  data: found,
});

function measureService(
  { pid: storePid = 0, description }: BenchStore,
  workspace: Workspace,
  { db, count }: { readonly db: Db; readonly count: number },
): Promise<Omit<Found, "store" | "floor">> {
  const group = `${workspace.database}.dead-letters.announcements`;
  const positions = db.collection<{ next_offset?: number }>(collections.positions);
  async function readPosition(): Promise<number | undefined> {
    // More queries would take a tenth of SecantusDB's time.
    await sleep(pollIntervalMs);
    return (await positions.findOne({ "_id.group": group }))?.next_offset;
  }
  return withServing(httpService, workspace, async ({ url, pid }) => {
    const [own, store] = [startCpu(pid), startCpu(storePid)];
    const stored = (await readPosition()) ?? 0;
    const { perSecond } = await measureRate(readPosition, count, pid);
    const [serviceMicros, storeMicros] = [own(count - stored), store(count - stored)];
    reportProgress(`${description}: ${Math.round(perSecond)}/s stored`);
    const rows = await db.collection(collections.deadLetters).estimatedDocumentCount();
    if (rows !== count) throw new Error(`${rows} rows for ${count} dead letters`);
    const firstPage = await measurePage(new URL(path, url));
    const filteredPage = await measurePage(new URL(`${path}?code=${codes[1]}`, url));
    // Most are answered from a cache.
    const overview = await measurePage(new URL("/api/topicsync/v1/overview", url), (times) =>
      Math.max(...times),
    );
    const command = await measureCommand(workspace);
    const serviceMemory = readMemoryMb(pid, "VmHWM");
    return {
      service: { perSecond, storeMicros },
      ...{ serviceMicros, firstPage, filteredPage, overview, ...command, serviceMemory },
    };
  });
}

/** Returns a function that divides the CPU time of a process since now by a number of rows. */
function startCpu(pid: number): (rows: number) => number {
  const before = readCpuMicros(pid);
  return (rows) => (readCpuMicros(pid) - before) / rows;
}

/** Creates the announcements topic and a dead-letter topic with rejected announcements. */
async function fill({ broker }: BenchStack, topic: string, count: number): Promise<void> {
  await (await openTopic(broker.address, topic))[Symbol.asyncDispose]();
  const deadLetterTopic = `${topic}.dead-letter`;
  await using target = await openTopic(broker.address, deadLetterTopic);
  async function send(records: readonly OutgoingRecord[]): Promise<SendResult[]> {
    const messages = records.map(({ key, value, headers, timestamp = "" }) => ({
      ...{ key, value, timestamp },
      headers: Object.fromEntries(headers.map(([name, text]) => [name, text ?? undefined])),
    }));
    await target.producer.send({ topic: deadLetterTopic, messages });
    return records.map((_, offset) => ({ partition: 0, offset }));
  }
  for (let next = 0; next < count; next += lettersPerRequest) {
    const size = Math.min(lettersPerRequest, count - next);
    await sendDeadLetters(
      { send },
      Array.from({ length: size }, (_, i) => createLetter(topic, next + i)),
    );
  }
}

const startedAt = Date.now() - 24 * 60 * 60 * 1_000;

function createLetter(topic: string, offset: number): OutgoingDeadLetter {
  const { key, value } = createAnnouncement(offset);
  return {
    partition: { topic, partition: 0 },
    epoch: 1,
    record: {
      offset,
      timestamp: String(startedAt + offset),
      key: Buffer.from(key),
      value: Buffer.from(value),
      headers: [],
    },
    rejection: new RejectionError(
      codes[offset % codes.length] ?? codes[0],
      "The announcement does not match the schema.",
      [{ path: "/contentQuery", message: "must be string" }],
    ),
  };
}

async function measurePage(url: URL, choose: (times: readonly number[]) => number = median): Promise<number> {
  const { headers } = httpService.template;
  const times: number[] = [];
  for (let i = 0; i < samples; i += 1) {
    const from = performance.now();
    const response = await fetch(url, { headers });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
    times.push(performance.now() - from);
  }
  return choose(times);
}

/** Runs `topicsync dead-letters list --json`. */
async function measureCommand(workspace: Workspace) {
  const { args, env } = await httpService.command(workspace, 0);
  const from = performance.now();
  const child = spawn(process.execPath, [...args.slice(0, -1), "dead-letters", "list", "--json"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let firstLine: number | undefined;
  let commandMemory = 0;
  child.stdout.on("data", () => {
    firstLine ??= performance.now() - from;
    commandMemory = Math.max(commandMemory, readMemoryMb(child.pid ?? 0, "VmHWM") || 0);
  });
  await once(child, "close");
  if (child.exitCode !== 0) throw new Error(`the command exited with ${child.exitCode}`);
  return { firstLine: firstLine ?? NaN, lastLine: performance.now() - from, commandMemory };
}

/** Inserts these rows into another database with the same indexes. */
async function measureFloor({ address, pid = 0 }: BenchStore, from: Db): Promise<Storing> {
  const uri = new URL(address);
  uri.pathname = `/${from.databaseName}-floor`;
  await using client = new MongoClient(uri.href, { writeConcern: { w: "majority", journal: true } });
  await ensureIndexes(client.db());
  const letters = client.db().collection<DeadLetterRecord>(collections.deadLetters);
  let [rows, ms, micros] = [0, 0, 0];
  async function insert(batch: readonly DeadLetterRecord[]): Promise<void> {
    const [cpu, startedAt] = [startCpu(pid), performance.now()];
    await letters.insertMany(batch, { ordered: false });
    ms += performance.now() - startedAt;
    micros += cpu(1);
    rows += batch.length;
  }
  let batch: DeadLetterRecord[] = [];
  // Without a size, the store in memory returns all other rows in one response.
  const rowsToInsert = from
    .collection<DeadLetterRecord>(collections.deadLetters)
    .find({}, { batchSize: rowsPerInsertion });
  for await (const row of rowsToInsert) {
    batch.push(row);
    if (batch.length < rowsPerInsertion) continue;
    await insert(batch);
    batch = [];
  }
  if (batch.length > 0) await insert(batch);
  return { perSecond: (1_000 * rows) / ms, storeMicros: micros / rows };
}
