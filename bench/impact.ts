import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { json as readJson, text as readText } from "node:stream/consumers";

import { Command } from "commander";
import type { Db } from "mongodb";

import type { ImpactResult } from "../schemas/impact.ts";
import { toDefinition } from "../src/topics/topic.ts";
import { createTopicRecord } from "../test/support/topic-record.ts";
import { createBodies, fillLog, type EventLog } from "./router/events.ts";
import { createCommonOptions, parsePositive, parsePositives, type CommonOptions } from "./support/options.ts";
import { readCpuMicros, readMemoryMb } from "./support/process-usage.ts";
import { printReports, reportProgress, type Report } from "./support/report.ts";
import {
  startStack,
  withWorkspace,
  type BenchStack,
  type BenchStore,
  type Workspace,
} from "./support/stack.ts";

interface ImpactOptions extends CommonOptions {
  readonly events: number[];
  readonly topics: number;
  readonly changes: number;
}

const defaultEvents = [100_000, 1_000_000];
const defaultTopics = 10_000;
const defaultChanges = 1_000;
const partitions = 2;
const topicsPerInsertion = 1_000;
const watchIntervalMs = 50;
const cli = join(import.meta.dirname, "../dist/cli.js");
/** As `topicsync` is started. */
const nodeOptions = ["--max-semi-space-size=16"];

export const impactCommand = (): Command => {
  const command = new Command("impact").description(
    "`topics impact`: time and memory to compare changes on events of about 500 bytes",
  );
  command
    .option("--events <list>", "comma-separated numbers of events to read", parsePositives, defaultEvents)
    .option("--topics <n>", "stored topics", parsePositive, defaultTopics)
    .option("--changes <n>", "topics that change", parsePositive, defaultChanges);
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: ImpactOptions) => {
    await using stack = await startStack(options.store);
    printReports([await measureImpact(stack, options)], stack.broker.description, options);
  });
};

interface Measured {
  readonly store: string;
  readonly events: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
}

async function measureImpact(
  stack: BenchStack,
  { events: sizes, topics, changes }: ImpactOptions,
): Promise<Report> {
  const log: EventLog = { topic: "bench.impact", events: Math.max(...sizes), topics, partitions };
  reportProgress(`sending ${log.events} events`);
  await fillLog(stack.broker.address, log);
  const found: Measured[] = [];
  for (const store of stack.stores)
    await withWorkspace(stack, { store, topic: "unused" }, async (workspace, db) => {
      reportProgress(`storing ${topics} topics`);
      await storeTopics(db, topics);
      const file = writeChanges(workspace, changes);
      for (const events of sizes) found.push(await measureRun({ store, workspace, log, file }, events));
    });
  return {
    title: "impact",
    head: ["store", "events", "seconds", "events/s", "CPU per event, µs", "peak, MB"],
    rows: found.map(({ store, events, seconds, cpuSeconds, peakMb }) => [
      store,
      events,
      seconds.toFixed(1),
      Math.round(events / seconds),
      ((1e6 * cpuSeconds) / events).toFixed(1),
      peakMb,
    ]),
    notes: [
      `${changes} of ${topics} stored topics change; the start of the command and reading the topics count.`,
    ],
    data: found,
  };
}

async function storeTopics(db: Db, count: number): Promise<void> {
  const topics = db.collection<{ _id: string }>("svc_api_notif_mgmt_topic");
  let batch = [];
  for (const body of createBodies(count)) {
    batch.push(createTopicRecord(toDefinition(body)));
    if (batch.length < topicsPerInsertion) continue;
    await topics.insertMany(batch, { ordered: false });
    batch = [];
  }
  if (batch.length > 0) await topics.insertMany(batch);
}

/** Each changed topic loses the condition on its severity. */
function writeChanges({ folder }: Workspace, count: number): string {
  const lines = [...createBodies(count)].map((body) => {
    const conditions = (body.contentQuery ?? "").split("&");
    const contentQuery = conditions.filter((one) => !one.startsWith("ticket.severity=")).join("&");
    return `${JSON.stringify({ ...body, contentQuery })}\n`;
  });
  const file = `${folder}.changes.ndjson`;
  writeFileSync(file, lines.join(""));
  return file;
}

interface Run {
  readonly store: BenchStore;
  readonly workspace: Workspace;
  readonly log: EventLog;
  readonly file: string;
}

/** Throws unless all events were read and matched as they should. */
async function measureRun({ store, workspace, log, file }: Run, events: number): Promise<Measured> {
  reportProgress(`${store.description}: ${events} events`);
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    [...nodeOptions, cli, "topics", "impact", file, "--json", "--last", String(events)],
    {
      env: {
        ...process.env,
        MONGODB_URI: workspace.uri,
        KAFKA_BROKERS: workspace.brokers,
        KAFKA_EVENTS_TOPIC: log.topic,
      },
    },
  );
  const ended = once(child, "close");
  let [peakMb, cpuMicros] = [0, 0];
  const watching = setInterval(() => {
    const [memory, cpu] = [readMemoryMb(child.pid ?? 0, "VmHWM"), readCpuMicros(child.pid ?? 0)];
    if (memory > peakMb) peakMb = memory;
    if (cpu > cpuMicros) cpuMicros = cpu;
  }, watchIntervalMs);
  try {
    const [result, errors] = await Promise.all([readJson(child.stdout), readText(child.stderr)]);
    await ended;
    const { read, total } = result as ImpactResult;
    if (child.exitCode !== 0 || read.events !== events || total.noLonger !== 0 || total.still === 0)
      throw new Error(`the result is wrong: ${JSON.stringify({ read, total })}\n${errors}`);
  } finally {
    clearInterval(watching);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  return { store: store.description, events, seconds, cpuSeconds: cpuMicros / 1e6, peakMb };
}
