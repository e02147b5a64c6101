/**
 * A world for the sync: processes that run the product's reader, service, storage and Kafka client unchanged, with kafkajs itself,
 * over simulated connections to a simulated Kafka cluster and a simulated store.
 */
import { createAnnouncementHandler } from "../../consumers/announcements/handler.ts";
import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { readConfig } from "../../src/config.ts";
import { createBroker, type Broker } from "../../src/kafka/client.ts";
import { ConfigurationError } from "../../src/lib/errors.ts";
import { retryUntilAvailable } from "../../src/lib/retry.ts";
import { createLogStore } from "../../src/storage/logs.ts";
import { collections } from "../../src/storage/names.ts";
import { createRetiredTopicStore, createTopicStore } from "../../src/storage/topics.ts";
import type { OutgoingRecord, RecordProducer } from "../../src/sync/records.ts";
import { createTopicService, type TopicService } from "../../src/topics/service.ts";
import { createTopicSwitch, type TopicSwitch } from "../../src/topics/switch.ts";
import { createHost, type Host } from "./clock.ts";
import { actOnCluster } from "./cluster-actions.ts";
import { createCluster } from "./cluster/cluster.ts";
import type { Delivery } from "./cluster/fetches.ts";
import type { Partition } from "./cluster/topics.ts";
import { createRandom } from "./random.ts";
import { createSocketNetwork } from "./sockets.ts";
import type { Step } from "./steps.ts";
import { createAdministration } from "./sync-administration.ts";
import { operate } from "./sync-operations.ts";
import { formatChanges } from "./sync-changes.ts";
import { createOracle } from "./sync-oracle.ts";
import type { SyncAction } from "./sync-steps.ts";
import { createSyncTopic } from "./sync-topic.ts";
import { withSimulatedTimers } from "./timers.ts";
import { Violation } from "./violation.ts";
import { createWorld, startOfTime, type OnTrace, type Process, type WorldResult } from "./world.ts";

interface Service {
  readonly topics: TopicService;
  readonly topicSwitch: TopicSwitch;
  readonly broker: Broker;
  readonly deadLetters: RecordProducer;
  readonly consumer: GroupConsumer;
}

/** Once faults stop, the sync must have caught up within this time: the lifetime of a transaction, and some retries. */
const recoveryMs = 180_000;
const groupId = "topicsync";
const announcementsTopic = "announcements";
const deadLetterTopic = "dead-letters";
const topicOfOthers = "others";
const fetchById = 13;

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
  });
  const { clock, random, server, log, openDatabase, trace, note, judge } = world;
  const { isReplicaSet } = server.options;
  const maxPartitions = random.pick([1, 2, 3]);
  // Chance of its own, so that a further limit does not change which faults follow.
  const limits = createRandom(seed + 3);
  const maxRecordsPerWrite = limits.pick([4_000, 4_000, 2]);
  const lasting = limits.pick([
    "nothing",
    "nothing",
    "denied topic",
    "topic without a leader",
    "broker down",
  ]);
  const maxFetchVersion = limits.pick([17, 17, fetchById, 11]);
  const sockets = createSocketNetwork({ clock, random });
  const cluster = createCluster({
    ...{ clock, random, trace, onDelivered, onProduced },
    network: sockets,
    now: () => startOfTime + Math.floor(clock.getTime()),
    brokers: 2,
    maxBatchesPerFetch: random.pick([1, 3, 20]),
    maxFetchVersion,
  });
  const hasTopicIds = maxFetchVersion >= fetchById;
  const topic = createSyncTopic({
    ...{ clock, cluster, host: world.brokerHost, name: announcementsTopic, maxPartitions, hasTopicIds },
    partitions: random.between(1, maxPartitions + 1),
    hasOddTimestamps: random.chance(0.5),
  });
  cluster.registry.create({ name: deadLetterTopic, partitions: random.pick([1, 2]) });
  const others = cluster.registry.create({ name: topicOfOthers, partitions: 1 });
  const operator = createHost("operator");
  const administration = createAdministration({
    ...{ clock, cluster, topic, topicName: announcementsTopic, groupId, deadLetterTopic, operator },
    database: openDatabase(operator),
  });
  const oracle = createOracle({
    ...{ clock, operator, hasTopicIds },
    getCurrentLog: topic.getLog,
    isCut: topic.isCut,
  });

  // Without transactions a batch may be stored in part.
  if (isReplicaSet)
    server.observe({
      onCommit(commit) {
        trace(() => `commit ${commit.number} of ${commit.client.name}: ${formatChanges(commit.changes)}`);
        judge(() => {
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
    judge(() => {
      for (const letter of stored) oracle.letters.onStored(process, letter);
    });
  }

  function onSending(from: Host, records: readonly OutgoingRecord[]): void {
    if (!isReplicaSet) return;
    judge(() => {
      oracle.letters.onSending(from, records);
    });
  }

  /** A process ends when Kafka denies its user a right, and is started again by a supervisor. */
  function endProcess(process: Process<Service>, error: unknown): void {
    if (!administration.wasDenied() || !(error instanceof ConfigurationError)) {
      clock.fail(error);
      return;
    }
    const index = [0, 1].find((one) => world.getProcess(one) === process);
    if (index !== undefined) world.inflict({ do: "kill", process: index, restartMs: 1_000, noticedMs: 100 });
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
    const { kafka } = readConfig({});
    const broker = createBroker(
      { ...kafka, brokers: cluster.addresses, groupId },
      log,
      sockets.createSockets(),
    );
    const database = openDatabase(host);
    const store = createTopicStore(database, log);
    const topics = createTopicService(store);
    const topicSwitch = createTopicSwitch({ store, retired: createRetiredTopicStore(database) });
    const deadLetters = broker.createProducer(deadLetterTopic);
    const consumer = createGroupConsumer({
      member: broker.createMember({ topic: announcementsTopic, groupId, commitsOffsets: true }),
      watch: broker.watch(announcementsTopic),
      logs: createLogStore(database),
      createHandler: (partition) => ({
        ...createAnnouncementHandler(partition, {
          ...{ groupId, topics, store, log },
          deadLetters: {
            send(records) {
              onSending(host, records);
              return deadLetters.send(records);
            },
          },
          applied: ({ counts }) => {
            note(`${host.name} ${JSON.stringify(counts)}`);
            if (isReplicaSet)
              judge(() => {
                oracle.onReported(host, partition.partition, counts);
              });
          },
          tracing: undefined,
        }),
        maxRecordsPerWrite,
      }),
      log,
      onDied: end,
    });
    process.service = { topics, topicSwitch, broker, deadLetters, consumer };
    await database.connect(abort);
    await broker.reach(abort);
    await retryUntilAvailable(() => consumer.start(), { what: "Kafka", abort, log });
  }

  function act(action: SyncAction): void {
    switch (action.do) {
      case "produce":
      case "end transaction":
      case "compact":
      case "truncate":
      case "lose end":
      case "recreate":
      case "move leader":
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
      case "set offset":
      case "revoke right":
      case "grant right":
        administration.act(action);
        break;
      case "freeze":
      case "elect":
      case "stall replication":
      case "kill":
      case "stop":
      case "disturb":
      case "cut":
        world.inflict(action);
        break;
      default:
        actOnCluster(action, {
          cluster,
          sockets,
          groupId,
          getHost: (process): Host => world.getProcess(process).host,
        });
    }
  }

  /** One fault that lasts must not keep the sync from the end of the log. */
  function inflictLasting(): void {
    trace(() => `what lasts: ${lasting}`);
    const [partition] = others.partitions;
    if (lasting === "denied topic") cluster.denied.add(topicOfOthers);
    if (lasting === "topic without a leader" && partition !== undefined)
      cluster.registry.moveLeader(partition, -1);
    if (lasting === "broker down")
      cluster.crash(limits.between(0, 2), { ms: 2 * recoveryMs, failOverMs: 100 });
  }

  function getPosition(partition: number): number | undefined {
    const record = server
      .readAll(collections.positions)
      .find(({ _id }) => (_id as { readonly partition: number }).partition === partition);
    return record?.["next_offset"] as number | undefined;
  }

  const isBehind = ({ partition, log: current }: Partition): boolean => {
    const position = getPosition(partition) ?? 0;
    // After a loss, the position stays until a record comes.
    if (position > current.end && topic.isCut(current)) return false;
    return position !== current.end || (isReplicaSet && !oracle.isInLog(partition, topic.identify(current)));
  };

  await world.perform(steps, act);
  world.heal();
  sockets.heal();
  cluster.denied.clear();
  topic.create();
  inflictLasting();
  topic.finish(random.chance);
  await clock.runUntil(clock.getTime() + recoveryMs, () => !topic.list().some(isBehind));
  const behind = topic.list().filter(isBehind);
  if (behind.length > 0) {
    const places = behind.map(
      ({ partition, log: current }) =>
        `partition ${partition} is at ${getPosition(partition) ?? "no position"} of ${current.end}`,
    );
    throw new Violation(
      `the sync has not caught up ${recoveryMs / 1_000} s after the last fault, with ${lasting} still: ${places.join(", ")}`,
    );
  }
  const stored = server.readAll(collections.topics);
  if (isReplicaSet) oracle.compare(stored);
  note(
    stored
      .map((record) => JSON.stringify([record["topic_id"], record["source"]]))
      .toSorted()
      .join(),
  );
  const result = world.getResult(oracle.countChecks());
  return { ...result, faults: result.faults + sockets.countDisturbed() };
}
