import { rmSync } from "node:fs";
import { join } from "node:path";

import { findDifferences } from "./compare.ts";
import { createInstances } from "./instances.ts";
import { createFaultInjector } from "./fault-injector.ts";
import { createGenerator } from "./generator.ts";
import { readLogEnds, readLog, type LogEntry } from "./log.ts";
import { createOracle, type Oracle } from "./oracle.ts";
import { createDeadline } from "./deadline.ts";
import { runWorkload } from "./workload.ts";
import type { FaultCounts } from "./plan.ts";
import { abortedHeader, createAnnouncer } from "./producer.ts";
import { createRandom } from "../../support/random.ts";
import {
  createOverHttp,
  watchAdvance,
  createLogFolder,
  getGroupMembers,
  startEnvironment,
  describePositions,
} from "./environment.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly announcements: number;
  readonly partitions: number;
  readonly instances: number;
  readonly faults: FaultCounts;
  readonly limitMs: number;
  /** For the data of broker and store, removed afterwards, and for the logs, kept if the run fails. */
  readonly folder: string;
  readonly log: (line: string) => void;
  readonly progress: (applied: number) => void;
}

export interface ChaosResult {
  /** Descriptions of the differences from the oracle. */
  readonly differences: readonly string[];
  readonly outcomes: Oracle["outcomes"];
  readonly topics: number;
  readonly retired: number;
  readonly rejected: number;
  readonly deadLetters: number;
  /** Records in the log, including duplicates from the producer's retries. */
  readonly records: number;
  readonly requests: ReadonlyMap<string, number>;
  readonly stack: string;
}

const httpTopicCount = 40;
/** Later timestamps are not in milliseconds. */
const maxTimestampMs = Date.UTC(2100, 0);

/**
 * Announces and injects faults, waits until everything is applied, stops the service and compares the state with
 * the oracle's. Throws if an instance exits by itself or the time is over.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, partitions, folder, limitMs } = options;
  const data = join(folder, "data");
  await using started = new AsyncDisposableStack();
  started.defer(() => {
    rmSync(data, { recursive: true, force: true });
  });
  const environment = await startEnvironment(data, partitions, started);
  const deadline = createDeadline(limitMs, () => describePositions(environment, partitions));
  const instances = createInstances({
    settings: environment.settings,
    folder: createLogFolder(folder),
    onFailure: (error) => {
      deadline.fail(error);
    },
  });
  started.defer(() => {
    instances.killAll();
  });

  const random = createRandom(seed);
  const generator = createGenerator(random.fork(), { partitions, httpTopicCount });
  const announcer = await createAnnouncer(environment.kafka, environment.names.topic, random.fork());
  started.defer(announcer.close);
  const injector = createFaultInjector({
    log: options.log,
    store: environment.store,
    broker: environment.broker,
    random: random.fork(),
    instances,
    maxInstances: options.instances,
    deadline,
    getMembers: () => getGroupMembers(environment),
    watchAdvance: () => watchAdvance(environment, partitions),
  });

  injector.start();
  const url = await deadline.waitUntil("the first instance listens", () => instances.running()[0]?.url());
  for (const { definition } of generator.httpTopics)
    await createOverHttp(environment, deadline, { url, definition });
  await runWorkload(options, {
    environment,
    deadline,
    generator,
    announcer,
    injector,
    random: random.fork(),
  });

  const last = await deadline.waitUntil("the broker takes the last records", () =>
    announcer.sendLast(partitions),
  );
  const ends = await deadline.waitUntil("every transaction is over", async () => {
    const found = await readLogEnds(environment.admin, environment.names.topic);
    return [...last].every(([partition, offset]) => (found.get(partition) ?? 0) > offset) ? found : undefined;
  });
  await injector.settle();
  await deadline.waitUntil("everything is applied", async () => {
    await environment.positions.refresh();
    options.progress(Math.min(environment.positions.total(), options.announcements));
    return [...ends].every(([partition, end]) => environment.positions.get(partition) >= end);
  });
  const stopping = Promise.all(instances.running().map((instance) => instance.stop()));
  await deadline.waitFor("all instances have ended", stopping);
  deadline.check("all instances have ended well");

  const oracle = createOracle(partitions, generator.httpTopics);
  const letters: LogEntry[] = [];
  const newest = new Map<number, number>();
  await readLog(environment.kafka, { topic: environment.names.topic, ends }, (entry) => {
    if (abortedHeader in entry.headers) throw new Error("the oracle read a record of an aborted transaction");
    oracle.take(entry);
    if (entry.timestamp <= maxTimestampMs)
      newest.set(entry.partition, Math.max(newest.get(entry.partition) ?? -1, entry.timestamp));
  });
  const letterEnds = await readLogEnds(environment.admin, environment.names.deadLetterTopic);
  await readLog(environment.kafka, { topic: environment.names.deadLetterTopic, ends: letterEnds }, (entry) =>
    letters.push(entry),
  );
  const found = {
    ...environment.names,
    db: environment.positions.db,
    user: environment.administrator.user,
    ends,
    newest,
    letters,
  };
  return {
    differences: [...(await findDifferences(oracle, found)), ...(await environment.sysIds.findDifferences())],
    outcomes: oracle.outcomes,
    topics: oracle.models.reduce((sum, { topics }) => sum + topics.size, 0),
    retired: oracle.models.reduce((sum, { retired }) => sum + retired.length, 0),
    rejected: oracle.letters.size,
    deadLetters: letters.length,
    records: [...ends.values()].reduce((sum, end) => sum + end, 0),
    requests: announcer.requests,
    stack: `${environment.broker.description}, ${environment.store.description}`,
  };
}
