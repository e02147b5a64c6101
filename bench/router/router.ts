import { Command, Option } from "commander";
import kafkajs from "kafkajs";

import { createBroker, type Broker } from "@topicsync/kafka/client";
import { createLogger } from "@topicsync/lib/logger";
import { createLongProgress } from "../../src/cli/output/progress.ts";
import { readConfig } from "../../src/config/config.ts";
import { openTopic } from "../support/announcements.ts";
import { service, withContestant, type Contestant } from "../support/contestant.ts";
import { createJsonOption, parsePositive, parsePositives } from "../support/options.ts";
import { readMemoryMb } from "../support/process-usage.ts";
import { printReports, reportProgress, type Report } from "../support/report.ts";
import {
  startStack,
  withWorkspace,
  type BenchStack,
  type BenchStore,
  type Workspace,
} from "../support/stack.ts";
import { insertTopics } from "../support/topics.ts";
import { createFloor, createRouter, type Job } from "./contestants.ts";
import { createBodies, fillLog, type EventLog } from "./events.ts";
import { installKafkaStreams } from "./kafka-streams.ts";
import { measureLatency } from "./latency.ts";
import { checkForwarded, measureRate, readLoadedTime, sum } from "./measure.ts";
import {
  compareWithTargets,
  reportLatencies,
  reportRates,
  type FoundLatency,
  type FoundRate,
  type Way,
} from "./report.ts";

export interface RouterBenchOptions {
  readonly topics: readonly number[];
  readonly events: number;
  readonly rounds: number;
  readonly partitions: number;
  readonly seconds: number;
  readonly peer: boolean;
}

/** Event Ruler takes 8 kB for each topic. */
const maxPeerTopics = 100_000;

export const routerCommand = (): Command =>
  new Command("router")
    .description(
      "events per second, memory and latency of the router, compared with a floor and Kafka Streams",
    )
    .option(
      "--topics <n,n…>",
      "numbers of topics to measure at; Kafka Streams up to 100,000",
      parsePositives,
      [1_000, 10_000, 100_000, 1_000_000],
    )
    .option("--events <n>", "events of each measurement", parsePositive, 400_000)
    .option("--rounds <n>", "measurements of each contestant; the median is reported", parsePositive, 3)
    .option("--partitions <n>", "partitions of the events, and threads of Kafka Streams", parsePositive, 2)
    .option("--seconds <n>", "duration of each measurement of latency in seconds", parsePositive, 30)
    .addOption(new Option("--no-peer", "omit Kafka Streams"))
    .addOption(createJsonOption())
    .action(async (options: RouterBenchOptions & { readonly json?: true }) => {
      await using stack = await startStack("memory", { forLatency: true });
      printReports(await measureRouter(stack, options), stack.broker.description, options);
    });

/** Fewer are measured without progress. */
const minShownEvents = 200_000;

/** Something that forwards events. */
interface Forwarder {
  readonly way: Way;
  readonly maxTopics: number;
  /** Whether it adds the header with the topic. */
  readonly hasHeaders: boolean;
  /** One for each of its processes. */
  readonly create: (job: Job) => readonly [Contestant, ...Contestant[]];
}

const floor: Forwarder = {
  way: "floor",
  maxTopics: Infinity,
  hasHeaders: false,
  create: (job) => [createFloor(job)],
};

const createOneRouter = (program: Contestant): Forwarder => ({
  way: "router",
  maxTopics: Infinity,
  hasHeaders: true,
  create: (job) => [createRouter(job, { base: program })],
});

/**
 * Measures the router with 10,000 topics, the floor and, with `peer`, Kafka Streams in turns, until
 * `onRound`, which gets all that was found, returns false.
 */
export async function measureRouterRounds(
  stack: BenchStack,
  store: BenchStore,
  { events, peer }: Pick<RouterBenchOptions, "events" | "peer">,
  onRound: OnRound,
): Promise<void> {
  const topics = 10_000;
  const options = { topics: [topics], events, rounds: NaN, partitions: 2, seconds: 0, peer };
  const forwarders = [floor, createOneRouter(service), ...(peer ? [await createStreams(stack)] : [])];
  const bench: Bench = { stack, store, forwarders, options };
  await withTopics(bench, topics, (workspace) => measureRates(bench, workspace, topics, onRound));
}

type OnRound = (found: readonly FoundRate[]) => boolean;

async function createStreams(stack: BenchStack): Promise<Forwarder> {
  const create = await installKafkaStreams(stack);
  return { way: "streams", maxTopics: maxPeerTopics, hasHeaders: true, create: (job) => [create(job)] };
}

/** Measures on the first store. `program`: the service. */
export async function measureRouter(
  stack: BenchStack,
  options: RouterBenchOptions,
  program = service,
): Promise<Report[]> {
  const [store] = stack.stores;
  if (store === undefined) throw new Error("there is no store to measure on");
  const forwarders: Forwarder[] = [
    floor,
    createOneRouter(program),
    {
      way: "routers",
      maxTopics: maxPeerTopics,
      hasHeaders: true,
      create: (job) => [
        createRouter(job, { base: program }),
        createRouter(job, { base: program, instance: 2 }),
      ],
    },
  ];
  if (options.peer) forwarders.push(await createStreams(stack));
  return measureAll({ stack, store, forwarders, options });
}

interface Bench {
  readonly stack: BenchStack;
  readonly store: BenchStore;
  readonly forwarders: readonly Forwarder[];
  readonly options: RouterBenchOptions;
}

/** A new client for each contestant: one that has read a deleted Kafka topic does not respond any more. */
async function openBroker({ stack }: Bench): Promise<Broker & AsyncDisposable> {
  const kafka = { ...readConfig({}).kafka, brokers: [stack.broker.address] };
  const broker = createBroker(kafka, await createLogger("silent"));
  return { ...broker, [Symbol.asyncDispose]: () => broker.close() };
}

async function measureAll(bench: Bench): Promise<Report[]> {
  const { options } = bench;
  const rates: FoundRate[] = [];
  const latencies: FoundLatency[] = [];
  for (const topics of options.topics) {
    await withTopics(bench, topics, async (workspace) => {
      rates.push(...(await measureRates(bench, workspace, topics)));
      if (topics === getLatencyTopics(options.topics))
        latencies.push(...(await measureLatencies(bench, workspace, topics)));
    });
  }
  return [
    reportRates(rates, options),
    reportLatencies(latencies, options),
    compareWithTargets(rates, latencies),
  ];
}

/** Works on a database with as many topics. */
async function withTopics<T>(
  bench: Bench,
  topics: number,
  measure: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  const announcements = `bench.router.${topics}.announcements`;
  await createTopic(bench, announcements);
  return withWorkspace(bench.stack, { store: bench.store, topic: announcements }, async (workspace, db) => {
    reportProgress(`inserting ${topics} topics`);
    await insertTopics(db, createBodies(topics));
    return measure(workspace);
  });
}

const getLatencyTopics = (sizes: readonly number[]): number | undefined =>
  sizes.find((topics) => topics === 10_000) ?? sizes[0];

const getParticipants = ({ forwarders }: Bench, topics: number): readonly Forwarder[] =>
  forwarders.filter(({ maxTopics }) => topics <= maxTopics);

async function measureRates(
  bench: Bench,
  workspace: Workspace,
  topics: number,
  onRound?: OnRound,
): Promise<FoundRate[]> {
  const { events, partitions, rounds } = bench.options;
  const log: EventLog = { topic: `bench.router.${topics}.events`, events, topics, partitions };
  reportProgress(`sending ${events} events for ${topics} topics`);
  await fillLog(workspace.brokers, log);
  const participants = getParticipants(bench, topics);
  const found: FoundRate[] = [];
  let isWanted = true;
  for (let round = 1; isWanted; round += 1) {
    // The order rotates, so that no contestant always runs after the same one. Ratios of single rounds need
    // the same order.
    const turn = onRound === undefined ? round % participants.length : 0;
    for (const forwarder of [...participants.slice(turn), ...participants.slice(0, turn)]) {
      const groupId = `${workspace.database}-${forwarder.way}-${round}`;
      const title = `${topics} topics, round ${round}: ${forwarder.way}`;
      found.push(await measureOne(bench, { workspace, forwarder, log, groupId, title }));
    }
    isWanted = onRound?.(found) ?? round < rounds;
  }
  await deleteTopic(workspace, log.topic);
  return found;
}

interface Turn {
  readonly workspace: Workspace;
  readonly forwarder: Forwarder;
  readonly log: EventLog;
  readonly groupId: string;
  readonly title: string;
}

async function measureOne(
  bench: Bench,
  { workspace, forwarder, log, groupId, title }: Turn,
): Promise<FoundRate> {
  await using broker = await openBroker(bench);
  const { events, topics, partitions } = log;
  const job: Job = { events: log.topic, egress: `${groupId}.egress`, groupId, topics, partitions };
  await createTopic(bench, job.egress);
  const contestants = forwarder.create(job);
  const { logFile } = await contestants[0].command(workspace);
  const progress = createLongProgress(title, events, minShownEvents);
  const startedAt = Date.now();
  const rate = await withContestants(contestants, workspace, async (pids) => ({
    ...(await measureRate(broker, job, {
      pids,
      events,
      onProgress: (done) => {
        progress.at(done);
      },
    })),
    peakMb: sum(pids.map((pid) => readMemoryMb(pid, "VmHWM"))),
  }));
  const loadedAt = forwarder.way.startsWith("router") ? await readLoadedTime(logFile) : NaN;
  progress.end(
    `${title}: ${Math.round(rate.perSecond)}/s, ${rate.cpuMicros.toFixed(1)} µs, ${rate.peakMb} MB`,
  );
  await checkForwarded(broker, job, { log, hasHeaders: forwarder.hasHeaders });
  await deleteTopic(workspace, job.egress);
  return { way: forwarder.way, topics, ...rate, loadedMs: loadedAt - startedAt };
}

async function measureLatencies(bench: Bench, workspace: Workspace, topics: number): Promise<FoundLatency[]> {
  const { stack, options } = bench;
  const { partitions, seconds } = options;
  const found: FoundLatency[] = [];
  for (const { way, hasHeaders, create } of getParticipants(bench, topics)) {
    reportProgress(`latency of ${way} for ${seconds} s`);
    await using broker = await openBroker(bench);
    const groupId = `${workspace.database}-${way}-latency`;
    const job: Job = {
      events: `${groupId}.events`,
      egress: `${groupId}.egress`,
      groupId,
      topics,
      partitions,
    };
    await createTopic(bench, job.egress);
    await using source = await openTopic(stack.broker.address, job.events, partitions);
    const latency = await withContestants(create(job), workspace, () =>
      measureLatency(stack.broker.address, job, { producer: source.producer, seconds }),
    );
    const log = { topic: job.events, events: latency.events, topics, partitions };
    await checkForwarded(broker, job, { log, hasHeaders });
    reportProgress(`  p50 ${latency.p50.toFixed(1)} ms, p99 ${latency.p99.toFixed(1)} ms`);
    found.push({ way, topics, ...latency });
  }
  return found;
}

/** Runs contestants side by side. */
const withContestants = <T>(
  [first, ...others]: readonly Contestant[],
  workspace: Workspace,
  watch: (pids: readonly number[]) => Promise<T>,
): Promise<T> =>
  first === undefined
    ? watch([])
    : withContestant(first, workspace, ({ pid }) =>
        withContestants(others, workspace, (pids) => watch([pid, ...pids])),
      );

async function createTopic({ stack, options }: Bench, topic: string): Promise<void> {
  await (await openTopic(stack.broker.address, topic, options.partitions))[Symbol.asyncDispose]();
}

/** Frees space on the disk. */
async function deleteTopic({ brokers }: Workspace, topic: string): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: brokers.split(","), logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  try {
    await admin.deleteTopics({ topics: [topic] });
  } finally {
    await admin.disconnect();
  }
}
