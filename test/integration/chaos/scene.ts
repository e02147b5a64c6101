import { join } from "node:path";

import { createRandom, type Random } from "../../support/random.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import {
  createLogFolder,
  describePositions,
  getGroupMembers,
  startEnvironment,
  watchAdvance,
  type Environment,
  type Input,
} from "./environment.ts";
import { createFaultInjector } from "./fault-injector.ts";
import { createInstances, type Instances } from "./instances.ts";
import { readLogEnds } from "./log.ts";
import type { FaultCounts } from "./plan.ts";
import type { createInputProducer } from "./producer.ts";

export interface SceneOptions {
  readonly seed: number;
  readonly partitions: number;
  readonly instances: number;
  readonly faults: FaultCounts;
  readonly limitMs: number;
  /** For the data of brokers and store, and the logs. The caller removes it unless the run fails. */
  readonly folder: string;
  readonly log: (line: string) => void;
  readonly progress: (applied: number) => void;
}

export interface Scene<S extends Subject = Subject> {
  readonly subject: S;
  readonly environment: Environment;
  /** What the service reads under chaos. */
  readonly input: Input;
  readonly deadline: Deadline;
  readonly instances: Instances;
  readonly injector: ReturnType<typeof createFaultInjector>;
  readonly random: Random;
}

/** The topic that is read under chaos, and the settings that the service needs for it. */
export interface Subject {
  readonly input: Input;
  readonly settings: Readonly<Record<string, string>>;
  /** Adds partitions to a Kafka topic. Returns a description. */
  readonly addPartitions: (deadline: Deadline) => Promise<string>;
}

/** Starts brokers and a store. No instance is started yet. All of it is disposed of with `started`. */
export async function startScene<S extends Subject>(
  options: SceneOptions,
  started: AsyncDisposableStack,
  prepare: (environment: Environment) => Promise<S> | S,
): Promise<Scene<S>> {
  const { seed, partitions, folder, limitMs } = options;
  const data = join(folder, "data");
  const environment = await startEnvironment(data, partitions, started);
  const subject = await prepare(environment);
  const { input, settings, addPartitions } = subject;
  const deadline = createDeadline(limitMs, () => describePositions(input));
  const instances = createInstances({
    settings: { ...environment.settings, ...settings },
    folder: createLogFolder(folder),
    onFailure: (error) => {
      deadline.fail(error);
    },
  });
  started.defer(() => {
    instances.killAll();
  });
  const random = createRandom(seed);
  const injector = createFaultInjector({
    log: options.log,
    store: environment.store,
    brokers: [environment.brokers.first, environment.brokers.second],
    addPartitions: () => addPartitions(deadline),
    random: random.fork(),
    instances,
    maxInstances: options.instances,
    deadline,
    getMembers: () => getGroupMembers(environment, input),
    watchAdvance: () => watchAdvance(environment, input),
  });
  return { subject, environment, input, deadline, instances, injector, random };
}

/** Sends a last record to each partition, and returns the log's ends once they no longer move. */
export async function endLog(
  { environment, deadline }: Pick<Scene, "environment" | "deadline">,
  { topic, partitions }: Input,
  producer: Awaited<ReturnType<typeof createInputProducer>>,
): Promise<ReadonlyMap<number, number>> {
  const last = await deadline.waitUntil("the brokers take the last records", () =>
    producer.sendLast(partitions),
  );
  return deadline.waitUntil("every transaction is over", async () => {
    const found = await readLogEnds(environment.admin, topic);
    return [...last].every(([partition, offset]) => (found.get(partition) ?? 0) > offset) ? found : undefined;
  });
}

/** Waits until an input is applied up to these ends. */
export async function waitUntilApplied(
  { deadline }: Pick<Scene, "deadline">,
  { topic, positions }: Input,
  ends: ReadonlyMap<number, number>,
  progress: (applied: number) => void = () => undefined,
): Promise<void> {
  await deadline.waitUntil(`everything in ${topic} is applied`, async () => {
    await positions.refresh();
    progress(positions.total());
    return [...ends].every(([partition, end]) => positions.get(partition) >= end);
  });
}

/** Stops all instances; each must exit with 0. */
export async function stopInstances({ deadline, instances }: Scene): Promise<void> {
  const stopping = Promise.all(instances.running().map((instance) => instance.stop()));
  await deadline.waitFor("all instances have ended", stopping);
  deadline.check("all instances have ended well");
}
