import { calculateObjectSize } from "bson";
import { Command, InvalidArgumentError } from "commander";

import { toInstallationRecord } from "../src/storage/installation-records.ts";
import { newId } from "../src/topics/topic.ts";
import { randomToken } from "./http-request.ts";
import { jsonOption, positive } from "./options.ts";
import { print, progress, quantile, type Report } from "./report.ts";
import { simulate, type Model } from "./simulate-model.ts";

/** What is asked for, what one machine does, and what it costs. Times are milliseconds, prices dollars. */
interface Plan extends Omit<Model, "instances" | "shards" | "outage"> {
  readonly tokens: number;
  /** How much of the time a processor should be busy at most. */
  readonly use: number;
  /** Of a shard's member; GB. */
  readonly memory: number;
  readonly processorPrice: number;
  readonly memoryPrice: number;
  readonly diskPrice: number;
  readonly json?: true;
}

/** `bench simulate`: how much a load takes, calculated, and how it behaves, simulated. */
export const simulateCommand = (): Command =>
  new Command("simulate")
    .description(
      "calculates what a load takes, and simulates it: instances, shards, memory, cost, and what breaks first",
    )
    .option("--tokens <n>", "installations stored", positive, 1_000_000_000)
    .option("--rate <n>", "registrations a second", positive, 100_000)
    .option("--request-ms <n>", "of an instance's processor for each registration", amount, 0.05)
    .option("--workers <n>", "processors of a shard's primary", positive, 8)
    .option("--command-ms <n>", "of a shard's processor for each command", amount, 0.3)
    .option("--write-ms <n>", "of a shard's processor for each registration in a command", amount, 0.2)
    .option("--commit-ms <n>", "until a majority has it in the journal, median", amount, 3)
    .option("--slow-commit-ms <n>", "the same, 99th percentile", amount, 20)
    .option("--use <share>", "how much of the time a processor should be busy at most", amount, 0.5)
    .option("--memory <GB>", "of a shard's member", positive, 64)
    .option("--processor-price <dollars>", "of a processor for an hour", amount, 0.04)
    .option("--memory-price <dollars>", "of a GB of memory for an hour", amount, 0.005)
    .option("--disk-price <dollars>", "of a GB of disk for a month", amount, 0.1)
    .option("--seconds <n>", "that are simulated", positive, 2)
    .option("--seed <n>", "of the random numbers", positive, 1)
    .addOption(jsonOption())
    .action(async (plan: Plan) => {
      const size = sizeOf(plan);
      print([sizing(plan, size), await behaviour(plan, size)], undefined, plan);
    });

function amount(text: string): number {
  if (!(Number(text) > 0)) throw new InvalidArgumentError("It must be a number above zero.");
  return Number(text);
}

/** Bytes that an installation takes in its three indexes, as they are kept in memory: keys with shared beginnings left out. */
const indexBytes = 200;
/** How much of a record is left on the disk after compression. */
const compressed = 0.5;
/** Of a shard: what a majority needs. */
const members = 3;
/** The store's cache may have half of the memory. */
const cacheShare = 0.5;
/** Registrations that a command to a shard has at this load; the simulation shows it. */
const usualCommand = 10;
const hoursAMonth = 730;

/** A calculation: docs/scaling.md has its formulas. */
function sizeOf(plan: Plan) {
  const { tokens, rate, requestMs, workers, commandMs, writeMs, use, memory } = plan;
  const recordBytes = calculateObjectSize(someRecord());
  const indexes = (tokens * indexBytes) / 1e9;
  const disk = (tokens * recordBytes * compressed) / 1e9 + indexes;
  const shardsByWrites = (rate * (writeMs + commandMs / usualCommand)) / 1_000 / workers / use;
  const shardsByMemory = indexes / (memory * cacheShare);
  const shards = Math.ceil(Math.max(shardsByWrites, shardsByMemory, 1));
  // One may be away.
  const instances = Math.ceil((rate * requestMs) / 1_000 / use) + 1;
  const hourly =
    shards * members * (workers * plan.processorPrice + memory * plan.memoryPrice) +
    instances * (plan.processorPrice + 0.5 * plan.memoryPrice);
  const monthly = hourly * hoursAMonth + disk * members * plan.diskPrice;
  return { recordBytes, indexes, disk, shardsByWrites, shardsByMemory, shards, instances, monthly };
}

const someRecord = () => {
  const at = new Date();
  return toInstallationRecord({
    ...{
      id: newId(),
      application: "mobile",
      platform: "APNS",
      token: randomToken(),
      user: "some.body@example.org",
    },
    ...{ active: true, createdOn: at, updatedOn: at, lastSeenOn: at, previousOwners: [] },
    ...{ deactivatedOn: undefined, deactivatedReason: undefined },
  });
};

function sizing({ tokens, rate, use }: Plan, size: ReturnType<typeof sizeOf>): Report {
  return {
    title: `what ${tokens} tokens and ${rate} registrations a second take, calculated`,
    head: ["what", "how much"],
    rows: [
      ["instances, one of them to spare", size.instances],
      ["a record, bytes", size.recordBytes],
      ["indexes, GB", Math.round(size.indexes)],
      ["disk, GB, once", Math.round(size.disk)],
      ["shards, for the writes", size.shardsByWrites.toFixed(1)],
      ["shards, for the indexes in memory", size.shardsByMemory.toFixed(1)],
      ["shards", size.shards],
      ["dollars a month", Math.round(size.monthly)],
    ],
    notes: [
      `Processors at most ${use * 100} % busy; ${members} members a shard. docs/scaling.md has the formulas.`,
    ],
    data: size,
  };
}

async function behaviour(plan: Plan, { instances, shards }: ReturnType<typeof sizeOf>): Promise<Report> {
  const away = { seconds: 5, outage: { fromMs: 1_000, forMs: 10_000 } };
  const times = (count: number, factor: number): number => Math.max(1, Math.round(count * factor));
  const scenes: [what: string, changed: Partial<Model>][] = [
    ["as calculated", {}],
    ["half of the instances", { instances: times(instances, 0.5) }],
    ["twice the instances", { instances: times(instances, 2) }],
    ["eight times the instances", { instances: times(instances, 8) }],
    ["half of the shards", { shards: times(shards, 0.5) }],
    ["twice the shards", { shards: times(shards, 2) }],
    ["four times the shards", { shards: times(shards, 4) }],
    ["one and a half times the rate", { rate: plan.rate * 1.5 }],
    ["twice the rate", { rate: plan.rate * 2 }],
    ["one shard without a primary, the last 4 of 5 s", away],
  ];
  const found = [];
  for (const [what, changed] of scenes) {
    progress(what);
    const model = { ...plan, instances, shards, ...changed };
    const { latencies, ...result } = await simulate(model);
    const [p50, p99, p999] = [0.5, 0.99, 0.999].map((share) => quantile(latencies, share));
    found.push({ what, instances: model.instances, shards: model.shards, ...result, p50, p99, p999 });
  }
  return {
    title: `how it behaves, ${plan.seconds} s simulated`,
    head: [
      "what",
      "instances",
      "shards",
      "instances busy",
      "shards busy",
      "a bulk",
      "p50, p99, p99.9, ms",
      "refused",
    ],
    rows: found.map((one) => [
      ...[one.what, one.instances, one.shards, percent(one.instanceUse), percent(one.shardUse)],
      one.registrationsABulk.toFixed(0),
      [one.p50, one.p99, one.p999].map((time) => time?.toFixed(0)).join(", "),
      percent(one.refused / (one.answered + one.refused)),
    ]),
    notes: [
      "Clients come at random and do not wait for each other; each instance runs the service's own group commit. Above 100 % it falls ever further behind: what came is answered after the end.",
    ],
    data: found,
  };
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
