import { join } from "node:path";

import { Command, Option } from "commander";
import type { Collection, Db } from "mongodb";

import { measureRate, service, withContestant, type Contestant, type Rate } from "../support/contestant.ts";
import { collections } from "../../src/storage/names.ts";
import { kafkaConnect } from "./kafka-connect.ts";
import { createAnnouncement, fillTopic, type FilledTopic } from "../support/announcements.ts";
import { createCommonOptions, parsePositive, type CommonOptions } from "../support/options.ts";
import { median, medianRatio, printReports, reportProgress, type Report } from "../support/report.ts";
import {
  withWorkspace,
  startStack,
  type Workspace,
  type BenchStack,
  type BenchStore,
} from "../support/stack.ts";

/** A minimal implementation; see floor.ts. */
export const floor: Contestant = {
  name: "floor",
  command: ({ brokers, uri, topic, folder }) => ({
    command: process.execPath,
    args: [join(import.meta.dirname, "floor.ts"), brokers, uri, topic],
    logFile: join(folder, "floor.log"),
  }),
};

const contestants: readonly Contestant[] = [floor, service, kafkaConnect];

interface SyncOptions extends CommonOptions {
  /** By default it depends on the store. */
  readonly announcements?: number;
  readonly rounds: number;
  readonly peer: boolean;
}

/** SecantusDB stores only about 2,000/s. */
const defaultAnnouncements: Readonly<Record<BenchStore["kind"], number>> = {
  embedded: 20_000,
  memory: 200_000,
};

export const syncCommand = (): Command => {
  const command = new Command("sync").description(
    "announcements per second of the service, a floor (plain eachBatch with insertMany) and Kafka Connect",
  );
  command.option(
    "--announcements <n>",
    "announcements of each measurement (default: 200000 in memory, 20000 on the embedded store)",
    parsePositive,
  );
  command.option("--rounds <n>", "measurements of each contestant; the median is reported", parsePositive, 3);
  command.addOption(new Option("--no-peer", "omit Kafka Connect"));
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: SyncOptions) => {
    await using stack = await startStack(options.store);
    printReports([await measureSync(stack, options)], stack.broker.description, options);
  });
};

/** Announcements per second of each round, by contestant. */
type Rates = Readonly<Record<string, readonly number[]>>;

export async function measureSync(
  stack: BenchStack,
  { announcements, rounds, peer }: Omit<SyncOptions, "store">,
): Promise<Report> {
  const found = [];
  for (const store of stack.stores) {
    const count = announcements ?? defaultAnnouncements[store.kind];
    const rates = await measureRates(stack, store, { announcements: count, rounds, peer });
    found.push({ store: store.description, announcements: count, rates });
  }
  return {
    title: "sync",
    head: [
      "store",
      "announcements",
      ...measuredNames,
      "÷ floor",
      "÷ Connect",
      "replay ÷ first",
      "changes ÷ first",
    ],
    rows: found.map(({ store, announcements: count, rates }) => [store, count, ...createRow(rates)]),
    notes: [
      `Announcements per second, measured from the first to the last stored topic; medians of ${rounds} rounds, also for ratios, after a warm-up round.`,
    ],
    data: found,
  };
}

/** Measures the contestants on one store; Kafka Connect only with `peer`. */
export async function measureRates(
  stack: BenchStack,
  store: BenchStore,
  { announcements, rounds, peer }: Omit<Required<SyncOptions>, keyof CommonOptions>,
): Promise<Rates> {
  reportProgress(`sending ${announcements} announcements`);
  const topic = `bench.sync.${store.kind}`;
  const source = await fillTopic(stack.broker.address, topic, announcements);
  const changes =
    store.kind === "memory"
      ? await fillTopic(stack.broker.address, `${topic}.changes`, announcements, { revision: 2 })
      : undefined;
  const rates: Record<string, number[]> = {};
  // Kafka Connect's upserts on SecantusDB are too slow to measure.
  const participants = contestants.filter((one) => one !== kafkaConnect || (peer && store.kind === "memory"));
  // The first round warms up caches and the JVM and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    // The order rotates, so that no contestant always runs after the same one.
    const turn = round % participants.length;
    for (const contestant of [...participants.slice(turn), ...participants.slice(0, turn)]) {
      const result = await withWorkspace(stack, { store, topic: source.topic }, (workspace, db) =>
        measure(contestant, { workspace, db, count: source.count, changes }),
      );
      for (const [name, rate] of Object.entries(result)) {
        const which = round === 0 ? "warm-up" : `round ${round} of ${rounds}`;
        reportProgress(`${store.description}, ${which}: ${name} ${Math.round(rate)}/s`);
        if (round > 0) (rates[name] ??= []).push(rate);
      }
    }
  }
  return rates;
}

interface Measurement {
  readonly workspace: Workspace;
  readonly db: Db;
  readonly count: number;
  /** Announcements that change each topic, if they are measured; then a replay is measured, too. */
  readonly changes: FilledTopic | undefined;
}

async function measure(
  contestant: Contestant,
  { workspace, db, count, changes }: Measurement,
): Promise<Record<string, number>> {
  const { perSecond: first } = await measureFirstPass(contestant, { workspace, db, count });
  if (contestant !== service || changes === undefined) return { [contestant.name]: first };
  // Deletes the position: everything is already stored, only the position moves.
  await db.collection(collections.positions).deleteMany({});
  const measureAgain = (topic: string): Promise<number> => measureService({ ...workspace, topic }, db, count);
  return {
    [contestant.name]: first,
    [replayName]: await measureAgain(workspace.topic),
    [changesName]: await measureAgain(changes.topic),
  };
}

/** Reads announcements into an empty collection. */
export const measureFirstPass = (
  contestant: Contestant,
  { workspace, db, count }: Omit<Measurement, "changes">,
): Promise<Rate> =>
  withContestant(contestant, workspace, ({ pid }) =>
    measureRate(createCounter(db.collection(collections.topics), count), count, pid),
  );

/**
 * Returns a counter of the stored topics. It counts only at the start and at the end and polls for a single
 * topic in between, because counting 18,000 topics takes SecantusDB 100 ms.
 */
function createCounter(topics: Collection, count: number): () => Promise<number> {
  let seen = 0;
  return async () => {
    const expected = createAnnouncement(seen === 0 ? 0 : count - 1);
    const found = await topics.findOne({ topic_id: expected.key }, { projection: { _id: 1 } });
    if (found !== null) seen = await topics.estimatedDocumentCount();
    return seen;
  };
}

export const replayName = "replay";
export const changesName = "changes";
const measuredNames = [...contestants.map(({ name }) => name), replayName, changesName];

/** Measures by the position. */
function measureService(workspace: Workspace, db: Db, count: number): Promise<number> {
  const positions = db.collection<{ next_offset?: number }>(collections.positions);
  const readOffset = async () => (await positions.findOne({ "_id.topic": workspace.topic }))?.next_offset;
  return withContestant(
    service,
    workspace,
    async ({ pid }) => (await measureRate(readOffset, count, pid)).perSecond,
  );
}

function createRow(rates: Rates): (string | number)[] {
  const getRates = (name: string): readonly number[] => rates[name] ?? [];
  const ratio = (of1: readonly number[], of2: readonly number[]): string =>
    formatNumber(medianRatio(of1, of2), 2);
  const [floors, services, connects] = contestants.map(({ name }) => getRates(name));
  return [
    ...measuredNames.map((name) => formatNumber(median(getRates(name)), 0)),
    ratio(services ?? [], floors ?? []),
    ratio(services ?? [], connects ?? []),
    ratio(getRates(replayName), services ?? []),
    ratio(getRates(changesName), services ?? []),
  ];
}

const formatNumber = (value: number, digits: number): string =>
  Number.isNaN(value) ? "–" : value.toFixed(digits);
