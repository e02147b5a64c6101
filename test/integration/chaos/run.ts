import { rmSync } from "node:fs";
import { join } from "node:path";

import { differences } from "./compare.ts";
import { createCrew } from "./crew.ts";
import { createDirector } from "./director.ts";
import { createGenerator } from "./generator.ts";
import { logEnds, readLog, type LogEntry } from "./log.ts";
import { createOracle, type Oracle } from "./oracle.ts";
import { createPatience } from "./patience.ts";
import { announceAndStrike } from "./act.ts";
import type { FaultCounts } from "./plan.ts";
import { abortedHeader, createAnnouncer } from "./producer.ts";
import { createRandom } from "./random.ts";
import { createByHand, goneOn, logsIn, membersOf, setStage, standingOf } from "./stage.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly announcements: number;
  readonly partitions: number;
  readonly instances: number;
  readonly faults: FaultCounts;
  readonly limitMs: number;
  /** For the broker's and the store's data, removed afterwards, and the logs, kept when the run failed. */
  readonly folder: string;
  readonly log: (line: string) => void;
  readonly progress: (applied: number) => void;
}

/** What a run came to. */
export interface ChaosResult {
  /** In words; none when everything is as the oracle says. */
  readonly differences: readonly string[];
  readonly outcomes: Oracle["outcomes"];
  readonly topics: number;
  readonly retired: number;
  readonly refused: number;
  readonly deadLetters: number;
  /** How many records lie in the log; a producer's retry may have doubled some. */
  readonly records: number;
  readonly requests: ReadonlyMap<string, number>;
  readonly stack: string;
}

const byHand = 40;
/** Later ones are not in milliseconds. */
const maxTimestampMs = Date.UTC(2100, 0);

/**
 * Announces, strikes, waits until everything is applied, stops the service and compares. Throws when the service does not
 * come through: an instance ended by itself, or the time was over.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, partitions, folder, limitMs } = options;
  const data = join(folder, "data");
  await using started = new AsyncDisposableStack();
  started.defer(() => {
    rmSync(data, { recursive: true, force: true });
  });
  const stage = await setStage(data, partitions, started);
  const patience = createPatience(limitMs, () => standingOf(stage, partitions));
  const crew = createCrew({
    settings: stage.settings,
    folder: logsIn(folder),
    failed: (error) => {
      patience.fail(error);
    },
  });
  started.defer(() => {
    crew.end();
  });

  const random = createRandom(seed);
  const generator = createGenerator(random.fork(), { partitions, byHand });
  const announcer = await createAnnouncer(stage.kafka, stage.names.topic, random.fork());
  started.defer(announcer.close);
  const director = createDirector({
    ...options,
    ...stage,
    random: random.fork(),
    crew,
    maxInstances: options.instances,
    patience,
    members: () => membersOf(stage),
    goneOn: () => goneOn(stage, partitions),
  });

  director.start();
  const url = await patience.until("the first instance listens", () => crew.running()[0]?.url());
  for (const { definition } of generator.handMade) await createByHand(stage, patience, { url, definition });
  await announceAndStrike(options, {
    stage,
    patience,
    generator,
    announcer,
    director,
    random: random.fork(),
  });

  const last = await patience.until("the broker takes the last records", () =>
    announcer.sendLast(partitions),
  );
  const ends = await patience.until("every transaction is over", async () => {
    const found = await logEnds(stage.admin, stage.names.topic);
    return [...last].every(([partition, offset]) => (found.get(partition) ?? 0) > offset) ? found : undefined;
  });
  await director.settle();
  await patience.until("everything is applied", async () => {
    await stage.positions.look();
    options.progress(Math.min(stage.positions.total(), options.announcements));
    return [...ends].every(([partition, end]) => stage.positions.of(partition) >= end);
  });
  const stopping = Promise.all(crew.running().map((instance) => instance.stop()));
  await patience.within("all instances have ended", stopping);
  patience.goOn("all instances have ended well");

  const oracle = createOracle(partitions, generator.handMade);
  const letters: LogEntry[] = [];
  const newest = new Map<number, number>();
  await readLog(stage.kafka, { topic: stage.names.topic, ends }, (entry) => {
    if (abortedHeader in entry.headers) throw new Error("the oracle read a record of an aborted transaction");
    oracle.take(entry);
    if (entry.timestamp <= maxTimestampMs)
      newest.set(entry.partition, Math.max(newest.get(entry.partition) ?? -1, entry.timestamp));
  });
  const letterEnds = await logEnds(stage.admin, stage.names.deadLetterTopic);
  await readLog(stage.kafka, { topic: stage.names.deadLetterTopic, ends: letterEnds }, (entry) =>
    letters.push(entry),
  );
  const found = {
    ...stage.names,
    db: stage.positions.db,
    user: stage.administrator.user,
    ends,
    newest,
    letters,
  };
  return {
    differences: [...(await differences(oracle, found)), ...(await stage.sysIds.differences())],
    outcomes: oracle.outcomes,
    topics: oracle.models.reduce((sum, { topics }) => sum + topics.size, 0),
    retired: oracle.models.reduce((sum, { retired }) => sum + retired.length, 0),
    refused: oracle.letters.size,
    deadLetters: letters.length,
    records: [...ends.values()].reduce((sum, end) => sum + end, 0),
    requests: announcer.requests,
    stack: `${stage.broker.description}, ${stage.store.description}`,
  };
}
