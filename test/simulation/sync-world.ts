/**
 * A world for the sync: processes that run the product's reader, service, storage and Kafka client unchanged,
 * with kafkajs itself, over simulated connections to a simulated Kafka cluster and a simulated store.
 */
import { createAnnouncementHandler } from "../../consumers/announcements/handler.ts";
import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { readConfig } from "../../src/config.ts";
import { createBroker, type Broker } from "../../src/kafka/client.ts";
import { ConfigurationError } from "../../src/lib/errors.ts";
import { retryUntilAvailable } from "../../src/lib/retry.ts";
import { createLogStore } from "../../src/storage/logs.ts";
import { collections } from "../../src/storage/names.ts";
import { createTopicStore } from "../../src/storage/topics.ts";
import type { OutgoingRecord, RecordProducer } from "../../src/sync/records.ts";
import { createTopicService, type TopicService } from "../../src/topics/service.ts";
import { createHost, type Host } from "./clock.ts";
import { createClaimCheck } from "./claim-check.ts";
import { actOnCluster } from "./cluster-actions.ts";
import { createCluster } from "./cluster/cluster.ts";
import type { Delivery } from "./cluster/fetches.ts";
import type { Partition } from "./cluster/topics.ts";
import { injectLastingFault, lastingFaults, recoveryMs, type LastingFault } from "./lasting-faults.ts";
import { createRandom } from "./random.ts";
import { createSocketNetwork } from "./sockets.ts";
import type { Step } from "./steps.ts";
import { createAdministration } from "./sync-administration.ts";
import { operate } from "./sync-operations.ts";
import { formatChanges } from "./sync-changes.ts";
import { SyncOracle } from "./sync-oracle.ts";
import { findLag } from "./sync-recovery.ts";
import type { Right, SyncAction } from "./sync-steps.ts";
import { createSyncTopic } from "./sync-topic.ts";
import { withSimulatedTimers } from "./timers.ts";
import { Violation } from "./violation.ts";
import { createWorld, startOfTime, type OnTrace, type Process, type WorldResult } from "./world.ts";

interface Service {
  readonly topics: TopicService;
  readonly broker: Broker;
  readonly deadLetters: RecordProducer;
  readonly consumer: GroupConsumer;
}

const groupId = "topicsync";
const announcementsTopic = "announcements";
const deadLetterTopic = "dead-letters";
const topicOfOthers = "others";
const fetchById = 13;
const denialMs = 40_000;
const quietMs = 20_000;
type Settings = readonly [name: string, value: string][];
/** Some reject what has no key, or is old. */
const deadLetterSettings: readonly [Settings, ...Settings[]] = [
  [],
  [],
  [["cleanup.policy", "compact"]],
  [["message.timestamp.before.max.ms", "50000"]],
];

/** Runs steps in a world that the seed determines. Throws a Violation. */
export const runSyncWorld = (
  seed: number,
  steps: readonly Step<SyncAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> => withSimulatedTimers(seed, () => run(seed, steps, onTrace));

async function run(
  seed: number,
  steps: readonly Step<SyncAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> {
  const world = createWorld<Service>({
    seed,
    onTrace,
    start,
    async stop({ consumer, deadLetters, broker }) {
      await consumer.stop();
      await deadLetters.close();
      await broker.close();
    },
    onGone: (host) => {
      sockets.forget(host);
    },
    mayLogError: (message) =>
      (topic.hasCuts() && message.startsWith("kafka lost records")) ||
      (administration.wasDenied() &&
        (message.includes("an unexpected error") || message.startsWith("consumer paused"))),
    onLogged({ reason = "" }) {
      if (reason.startsWith("Kafka denies")) denialsTold += 1;
    },
  });
  const { clock, random, server, log, openDatabase, trace, note, runCheck } = world;
  const { isReplicaSet } = server.options;
  const maxPartitions = random.pick([1, 2, 3]);
  // Chance of its own, so that a further limit does not change which faults follow.
  const limits = createRandom(seed + 3);
  const maxRecordsPerWrite = limits.pick([4_000, 4_000, 2]);
  const endings = createRandom(seed + 4);
  const lasting = limits.pick<LastingFault>(lastingFaults);
  const maxFetchVersion = limits.pick([17, 17, fetchById, 11]);
  const sockets = createSocketNetwork({ clock, random });
  const cluster = createCluster({
    ...{ clock, random, trace, onDelivered, onProduced },
    network: sockets,
    now: () => startOfTime + Math.floor(clock.getTime()),
    brokers: createRandom(seed + 5).pick([2, 2, 2, 3]),
    maxBatchesPerFetch: random.pick([1, 3, 20]),
    maxFetchVersion,
  });
  const hasTopicIds = maxFetchVersion >= fetchById;
  const hasOldPositions = limits.chance(0.15);
  const topic = createSyncTopic({
    ...{ clock, cluster, host: world.brokerHost, name: announcementsTopic, maxPartitions, hasTopicIds },
    hasOldPositions,
    isMissing: !hasOldPositions && limits.chance(0.2),
    partitions: random.between(1, maxPartitions + 1),
    hasOddTimestamps: random.chance(0.5),
  });
  const deadLetterPartitions = random.pick([1, 2]);
  if (limits.chance(0.8))
    cluster.registry.create({
      name: deadLetterTopic,
      partitions: deadLetterPartitions,
      settings: new Map(limits.pick(deadLetterSettings)),
    });
  cluster.registry.create({ name: topicOfOthers, partitions: 1 });
  /** In the end it is denied. */
  const right = limits.pick<Right | "none">(["none", "none", "none", "none", "fetch", "read", "group"]);
  let denialsTold = 0;
  const operator = createHost("operator");
  const administration = createAdministration({
    ...{ clock, cluster, topic, topicName: announcementsTopic, groupId, deadLetterTopic, operator },
    database: openDatabase(operator),
  });
  const oracle = new SyncOracle({
    ...{ clock, operator, hasTopicIds },
    getCurrentLog: topic.getLog,
    isCut: topic.isCut,
    wasCut: topic.wasCut,
    readAll: (collection) => server.readAll(collection),
  });

  // Without transactions a batch may be stored in part.
  if (isReplicaSet)
    server.observe({
      onCommit(commit) {
        trace(() => `commit ${commit.number} of ${commit.client.name}: ${formatChanges(commit.changes)}`);
        runCheck(() => {
          oracle.onCommit(commit);
        });
      },
      onRead(read) {
        oracle.letters.onRead(read);
      },
      onRollback(lastKept) {
        trace(() => `every commit after ${lastKept} is lost`);
        oracle.onRollback(lastKept);
      },
    });

  function onDelivered({
    process,
    partition: { topic: name, partition, log: fetched },
    from,
    read,
  }: Delivery): void {
    if (name !== announcementsTopic) return;
    trace(
      () =>
        `${process.name} is sent ${read.records.map(({ offset }) => offset).join(" ")} of partition ${partition}, log ${fetched.id}`,
    );
    oracle.onDelivered(process, partition, { ...topic.identify(fetched), from, ...read });
  }

  function onProduced(process: Host, { topic: name, log: letters }: Partition, baseOffset: number): void {
    if (name !== deadLetterTopic || !isReplicaSet) return;
    const stored = letters.readAll().filter(({ offset }) => offset >= baseOffset);
    trace(() => `${stored.length} dead letters of ${process.name} are stored`);
    runCheck(() => {
      for (const letter of stored) oracle.letters.onStored(process, letter);
    });
  }

  function onSending(from: Host, records: readonly OutgoingRecord[]): void {
    if (!isReplicaSet) return;
    runCheck(() => {
      oracle.letters.onSending(from, records);
    });
  }

  /** A process ends when Kafka denies its user a right, and is started again by a supervisor. */
  function endProcess(process: Process<Service>, error: unknown): void {
    if (!administration.wasDenied() || !(error instanceof ConfigurationError)) {
      clock.fail(error);
      return;
    }
    denialsTold += 1;
    const index = [0, 1].find((one) => world.getProcess(one) === process);
    if (index !== undefined)
      world.injectFault({ do: "kill", process: index, restartMs: 1_000, noticedMs: 100 });
  }

  async function start(process: Process<Service>): Promise<void> {
    const end = (error: unknown): void => {
      endProcess(process, error);
    };
    await startService(process, end).catch(end);
  }

  async function startService(process: Process<Service>, end: (error: unknown) => void): Promise<void> {
    const { host } = process;
    const { signal: abort } = new AbortController();
    const settings = { ...readConfig({}).kafka, groupId, announcementsTopic, deadLetterTopic };
    const broker = createBroker({ ...settings, brokers: cluster.addresses }, log, sockets.createSockets());
    const database = openDatabase(host);
    const store = createTopicStore(database, log);
    const topics = createTopicService(store);
    const deadLetters = broker.createProducer(deadLetterTopic);
    const member = broker.createMember({ topic: announcementsTopic, groupId, commitsOffsets: true });
    const watchClaims = createClaimCheck(member, runCheck);
    const consumer = createGroupConsumer({
      member,
      watch: broker.watch(announcementsTopic),
      logs: createLogStore(database),
      createHandler: (partition) => {
        const handler = createAnnouncementHandler(partition, {
          ...{ groupId, topics, store, log },
          deadLetters: {
            send(records) {
              onSending(host, records);
              return deadLetters.send(records);
            },
          },
          applied: ({ decision: { counts } }) => {
            note(`${host.name} ${JSON.stringify(counts)}`);
            if (isReplicaSet)
              runCheck(() => {
                oracle.onReported(host, partition.partition, counts);
              });
          },
          tracing: undefined,
        });
        return { ...watchClaims(partition.partition, handler), maxRecordsPerWrite };
      },
      log,
      onDied: end,
    });
    process.service = { topics, broker, deadLetters, consumer };
    await database.connect(abort);
    await broker.connect(abort);
    await retryUntilAvailable(() => consumer.start(), { what: "Kafka", abort, log });
  }

  function act(action: SyncAction): void {
    switch (action.do) {
      case "produce":
      case "end transaction":
      case "compact":
      case "truncate":
      case "lose end":
      case "lose ends":
      case "recreate":
      case "move leader":
      case "move leaders":
      case "grow":
      case "old bounds":
        topic.act(action);
        break;
      case "create":
      case "disable":
      case "enable":
        operate(action, world, oracle);
        break;
      case "set position":
      case "lose position":
      case "set offset":
      case "expire offsets":
      case "refuse topics":
      case "revoke right":
      case "grant right":
        administration.act(action);
        break;
      case "elect at look-up":
        server.stallReplication(action.stallMs);
        server.electAfterReads({
          collection: collections[action.of],
          reads: action.lookUps,
          downMs: action.downMs,
        });
        break;
      case "elect at unreplicated epoch":
        server.electAfterReads({
          collection: collections.logs,
          reads: 1,
          downMs: action.downMs,
          unreplicated: {
            stallMs: action.stallMs,
            // Otherwise its driver would write the same again.
            onElected: (writer) => {
              world.network.cut(writer, world.storeHost, action.stallMs);
            },
          },
        });
        break;
      default:
        actOnCluster(action, { world, cluster, sockets, groupId });
    }
  }

  /** Who lacks a right says so. */
  async function denyRight(): Promise<void> {
    if (right === "none") return;
    const before = denialsTold;
    administration.act({ do: "revoke right", right });
    await clock.runUntil(clock.getTime() + denialMs, () => denialsTold > before);
    if (denialsTold === before)
      throw new Violation(`Kafka has denied a right for ${denialMs / 1_000} s, which nobody says: ${right}`);
  }

  const listBehind = (): readonly string[] =>
    findLag({
      topic,
      readAll: (collection) => server.readAll(collection),
      isInLog: (partition, current) => !isReplicaSet || oracle.isInLog(partition, current),
    });

  if (hasOldPositions) administration.insertOldPositions(limits);
  await world.perform(steps, act);
  world.heal();
  server.electAfterReads(undefined);
  sockets.heal();
  cluster.denied.clear();
  cluster.refuseTopics(0);
  topic.create();
  // A reader does not hear of a position that is moved behind it, so this comes before the last records.
  await clock.runUntil(clock.getTime() + quietMs, administration.hasEnded);
  // Some runs end with records for a reader that waits for them.
  if (limits.chance(0.3)) await clock.runUntil(clock.getTime() + quietMs);
  trace(() => `what lasts: ${lasting}`);
  injectLastingFault(lasting, { cluster, others: topicOfOthers, random: limits });
  // In others nothing comes any more that would show a reader that it is wrong.
  if (endings.chance(0.3) && !administration.hasMovedPositions()) topic.settle();
  else topic.finish(random.chance);
  await clock.runUntil(clock.getTime() + recoveryMs, () => listBehind().length === 0);
  const behind = listBehind();
  if (behind.length > 0)
    throw new Violation(
      `the sync has not caught up ${recoveryMs / 1_000} s after the last fault, with ${lasting} still: ${behind.join(", ")}`,
    );
  const stored = server.readAll(collections.topics);
  if (isReplicaSet) oracle.compare(stored);
  note(
    stored
      .map((record) => JSON.stringify([record["topic_id"], record["source"]]))
      .toSorted()
      .join(),
  );
  await denyRight();
  const result = world.getResult(oracle.countChecks());
  return { ...result, faults: result.faults + sockets.countDisturbed() };
}
