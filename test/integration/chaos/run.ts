import { findDifferences } from "./compare.ts";
import { createGenerator, moveHeader } from "./generator.ts";
import { readLogEnds, readLog, type LogEntry } from "./log.ts";
import { createOracle, type Oracle } from "./oracle.ts";
import { runWorkload } from "./workload.ts";
import { abortedHeader, createInputProducer } from "./producer.ts";
import { createOverHttp } from "./environment.ts";
import { endLog, startScene, stopInstances, waitUntilApplied, type SceneOptions } from "./scene.ts";

export interface ChaosOptions extends SceneOptions {
  readonly announcements: number;
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
/**
 * Announces and injects faults, waits until everything is applied, stops the service and compares the state
 * with the oracle's. Throws if an instance exits unexpectedly or the time is over.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { partitions, announcements } = options;
  await using started = new AsyncDisposableStack();
  const scene = await startScene(options, started, (made) => ({
    input: made.announcements,
    settings: {},
    addPartitions: () => Promise.reject(new Error("the order of announcements depends on their partition")),
  }));
  const { environment, input, deadline, instances, injector, random } = scene;
  const generator = createGenerator(random.fork(), { partitions, httpTopicCount });
  const values = random.fork();
  const producer = await createInputProducer(
    environment.kafka,
    {
      topic: input.topic,
      createHarmfulValue: (index, padding) =>
        values.chance(0.5) ? null : JSON.stringify({ externalId: `aborted/${index}`, name: "no" }) + padding,
      // The tombstone of an unknown topic.
      last: { key: "never/last", value: null, headers: { [moveHeader]: "last" } },
    },
    random.fork(),
  );
  started.defer(producer.close);

  injector.start();
  const url = await deadline.waitUntil("the first instance listens", () => instances.running()[0]?.url());
  for (const { definition } of generator.httpTopics)
    await createOverHttp(environment, deadline, { url, definition });
  await runWorkload(
    { ...options, records: announcements },
    {
      input,
      deadline,
      take: (count) => generator.take(count),
      producer,
      injector,
      random: random.fork(),
      beforeFault: () => environment.sysIds.refresh(),
    },
  );
  const ends = await endLog(scene, input, producer);
  await injector.settle();
  await waitUntilApplied(scene, input, ends, (applied) => {
    options.progress(Math.min(applied, announcements));
  });
  await stopInstances(scene);

  const oracle = createOracle(partitions, generator.httpTopics);
  const letters: LogEntry[] = [];
  await readLog(environment.kafka, { topic: input.topic, ends }, (entry) => {
    if (abortedHeader in entry.headers) throw new Error("the oracle read a record of an aborted transaction");
    oracle.take(entry);
  });
  const letterEnds = await readLogEnds(environment.admin, environment.names.deadLetterTopic);
  await readLog(environment.kafka, { topic: environment.names.deadLetterTopic, ends: letterEnds }, (entry) =>
    letters.push(entry),
  );
  const found = {
    ...environment.names,
    db: environment.db,
    user: environment.administrator.user,
    ends,
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
    requests: producer.requests,
    stack: environment.stack,
  };
}
