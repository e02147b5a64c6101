import { Command } from "commander";
import type { Collection, Db } from "mongodb";

import { measureRate, withContestant, type Contestant } from "../support/contestant.ts";
import { contestants, service } from "../support/contestants.ts";
import { kafkaConnect } from "./kafka-connect.ts";
import { announcement, fillLog, type Log } from "../support/announcements.ts";
import { commonOptions, positive, type CommonOptions } from "../support/options.ts";
import { median, print, progress, type Report } from "../support/report.ts";
import { inArena, startStack, type Arena, type BenchStack, type BenchStore } from "../support/stack.ts";

interface SyncOptions extends CommonOptions {
  /** Undefined: as many as the store can bear in reasonable time. */
  readonly announcements?: number;
  readonly rounds: number;
}

/** The embedded store may do 2,000/s only. */
const announcementsOn: Readonly<Record<BenchStore["kind"], number>> = { embedded: 20_000, memory: 200_000 };

/** `bench sync`: announcements per second of every contestant, and of a replay. */
export const syncCommand = (): Command => {
  const command = new Command("sync").description(
    "announcements per second of the service, of the floor (a bare eachBatch with insertMany) and of Kafka Connect",
  );
  command.option(
    "--announcements <n>",
    "announcements of each measurement (default: 200000 in memory, 20000 on the embedded store)",
    positive,
  );
  command.option("--rounds <n>", "measurements of each contestant; the median counts", positive, 3);
  for (const option of commonOptions()) command.addOption(option);
  return command.action(async (options: SyncOptions) => {
    await using stack = await startStack(options.store);
    print([await measureSync(stack, options)], stack.broker.description, options);
  });
};

/** What the rounds of one contestant gave, in announcements per second. */
type Rates = Readonly<Record<string, readonly number[]>>;

/** Measures every contestant on every store of the stack. */
export async function measureSync(
  stack: BenchStack,
  { announcements, rounds }: Omit<SyncOptions, "store">,
): Promise<Report> {
  const found = [];
  for (const store of stack.stores) {
    const count = announcements ?? announcementsOn[store.kind];
    progress(`filling a log with ${count} announcements`);
    const log = await fillLog(stack.broker.address, `bench.sync.${store.kind}`, count);
    found.push({
      store: store.description,
      announcements: count,
      rates: await compare(stack, store, log, rounds),
    });
  }
  return {
    title: "sync",
    head: ["store", "announcements", ...measured, "÷ floor", "÷ Connect", "replay ÷ first"],
    rows: found.map(({ store, announcements: count, rates }) => [store, count, ...row(rates)]),
    notes: [
      `Announcements per second, from the first that is seen stored to the last; median of ${rounds} rounds (of the ratios too), after one that does not count.`,
    ],
    data: found,
  };
}

async function compare(stack: BenchStack, store: BenchStore, log: Log, rounds: number): Promise<Rates> {
  const rates: Record<string, number[]> = {};
  // On SecantusDB its upserts take so long that a measurement does not end.
  const taking = contestants.filter((one) => one !== kafkaConnect || store.kind === "memory");
  // The first round finds cold caches, above all a cold Java: it does not count.
  for (let round = 0; round <= rounds; round += 1) {
    // Each comes first, second and last in turn: what one leaves behind must not always meet the same.
    const turn = round % taking.length;
    for (const contestant of [...taking.slice(turn), ...taking.slice(0, turn)]) {
      const result = await inArena(stack, { store, topic: log.topic }, (arena, db) =>
        measure(contestant, { arena, db, count: log.count, replay: store.kind === "memory" }),
      );
      for (const [name, rate] of Object.entries(result)) {
        const which = round === 0 ? "warm-up" : `round ${round} of ${rounds}`;
        progress(`${store.description}, ${which}: ${name} ${Math.round(rate)}/s`);
        if (round > 0) (rates[name] ??= []).push(rate);
      }
    }
  }
  return rates;
}

interface Measurement {
  readonly arena: Arena;
  readonly db: Db;
  readonly count: number;
  readonly replay: boolean;
}

async function measure(
  contestant: Contestant,
  { arena, db, count, replay }: Measurement,
): Promise<Record<string, number>> {
  const topics = db.collection("svc_api_notif_mgmt_topic");
  const first = await withContestant(contestant, arena, () => measureRate(stored(topics, count), count));
  if (contestant !== service || !replay) return { [contestant.name]: first };
  return { [contestant.name]: first, [replayName]: await measureReplay(arena, db, count) };
}

/**
 * Looks how many topics are stored. It counts only at the beginning and at the end, and looks for a single
 * topic meanwhile: to count 18,000 takes SecantusDB 100 ms, and what is measured would be the counting.
 */
function stored(topics: Collection, count: number): () => Promise<number> {
  let seen = 0;
  return async () => {
    const awaited = announcement(seen === 0 ? 0 : count - 1);
    const found = await topics.findOne({ topic_id: awaited.key }, { projection: { _id: 1 } });
    if (found !== null) seen = await topics.estimatedDocumentCount();
    return seen;
  };
}

const replayName = "replay";
const measured = [...contestants.map(({ name }) => name), replayName];

/** The service once more over the whole log, with everything stored already. Only its position moves. */
async function measureReplay(arena: Arena, db: Db, count: number): Promise<number> {
  const positions = db.collection<{ next_offset?: number }>("topicsync_positions");
  await positions.deleteMany({});
  return withContestant(service, arena, () =>
    measureRate(async () => (await positions.findOne({}))?.next_offset, count),
  );
}

/** A row's figures, in the order of the table's head. */
function row(rates: Rates): (string | number)[] {
  const of = (name: string): readonly number[] => rates[name] ?? [];
  const ratio = (of1: readonly number[], of2: readonly number[]): string =>
    shown(median(of1.map((rate, round) => rate / (of2[round] ?? NaN))), 2);
  const [floors, services, connects] = contestants.map(({ name }) => of(name));
  return [
    ...measured.map((name) => shown(median(of(name)), 0)),
    ratio(services ?? [], floors ?? []),
    ratio(services ?? [], connects ?? []),
    ratio(of(replayName), services ?? []),
  ];
}

const shown = (value: number, digits: number): string => (Number.isNaN(value) ? "–" : value.toFixed(digits));
