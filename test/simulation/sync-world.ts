/**
 * A world for the sync: processes that run the product's reader, service and storage unchanged, over a simulated broker, store
 * and network, under one clock and one source of chance.
 */
import { createAnnouncementHandler } from "../../consumers/announcements/handler.ts";
import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { RejectionError, UnavailableError } from "../../src/lib/errors.ts";
import { createDatabaseOf } from "../../src/storage/database.ts";
import { createLogStore } from "../../src/storage/logs.ts";
import { collections } from "../../src/storage/names.ts";
import { createRetiredTopicStore, createTopicStore } from "../../src/storage/topics.ts";
import type { OutgoingRecord } from "../../src/sync/records.ts";
import { createTopicService, type TopicService } from "../../src/topics/service.ts";
import { createTopicSwitch, UnknownTopicError, type TopicSwitch } from "../../src/topics/switch.ts";
import type { Host } from "./clock.ts";
import { createKafkaBroker } from "./kafka/broker.ts";
import { createKafkaClient, type Delivery } from "./kafka/client.ts";
import { createMongoClient } from "./mongo/client.ts";
import type { Change } from "./mongo/commands.ts";
import { createOracle } from "./sync-oracle.ts";
import type { SentRecord, Step, SyncAction } from "./steps.ts";
import { Violation } from "./violation.ts";
import { createWorld, startOfTime, type OnTrace, type Process, type WorldResult } from "./world.ts";

interface Service {
  readonly topics: TopicService;
  readonly topicSwitch: TopicSwitch;
  readonly consumer: GroupConsumer;
}

/** Once faults stop, the sync must have caught up within this time: the lifetime of a transaction, and some retries. */
const recoveryMs = 180_000;

/** Runs steps in a world that the seed determines. Throws a Violation. */
export async function runSyncWorld(
  seed: number,
  steps: readonly Step<SyncAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> {
  const world = createWorld<Service>({
    seed,
    onTrace,
    start,
    stop: ({ consumer }) => consumer.stop(),
    onGone: (host) => {
      broker.expire(host);
    },
  });
  const { clock, random, network, server, brokerHost, log, trace, note, judge } = world;
  const { isReplicaSet } = server.options;
  const partitions = random.pick([1, 2]);
  const maxOffsetsPerFetch = random.pick([1, 3, 10, 50]);
  /** Producers set timestamps as they like. */
  const hasOddTimestamps = random.chance(0.5);
  const broker = createKafkaBroker({ clock, random, host: brokerHost }, { partitions, maxOffsetsPerFetch });
  const oracle = createOracle({ clock, getCurrentLog: (partition) => broker.getLog(partition) });
  let lastTimestamp = startOfTime;

  broker.observe((from, records) => {
    trace(() => `stores ${records.length} dead letters of ${from.name}`);
    oracle.letters.onStored(records);
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

  function onDelivered(delivery: Delivery): void {
    const { partition, log: partitionLog, records } = delivery;
    trace(
      () =>
        `fetches ${records.map(({ offset }) => offset).join(" ")} of partition ${partition}, log ${partitionLog.id}`,
    );
    oracle.onDelivered(delivery);
  }

  function onSending(from: Host, records: readonly OutgoingRecord[]): void {
    if (!isReplicaSet) return;
    judge(() => {
      oracle.letters.onSending(from, records);
    });
  }

  async function start(process: Process<Service>): Promise<void> {
    const { host } = process;
    const database = createDatabaseOf(createMongoClient({ clock, random, network, server, host }), log);
    const store = createTopicStore(database, log);
    const kafka = createKafkaClient({ clock, network, broker, host, onDelivered, onSending });
    await database.connect(new AbortController().signal);
    const topics = createTopicService(store);
    const topicSwitch = createTopicSwitch({ store, retired: createRetiredTopicStore(database) });
    const consumer = createGroupConsumer({
      member: kafka.createMember(),
      watch: kafka.watch,
      logs: createLogStore(database),
      createHandler: (partition) =>
        createAnnouncementHandler(partition, {
          groupId: "topicsync",
          topics,
          store,
          deadLetters: kafka.deadLetters,
          applied: ({ counts }) => {
            note(`${host.name} ${JSON.stringify(counts)}`);
            if (isReplicaSet)
              judge(() => {
                oracle.onReported(host, partition.partition, counts);
              });
          },
          tracing: undefined,
          log,
        }),
      log,
      onDied: clock.fail,
    });
    process.service = { topics, topicSwitch, consumer };
    await consumer.start();
  }

  /** Timestamps grow, unless they are odd. */
  function getTimestamp({ skewMs }: SentRecord): number {
    lastTimestamp = Math.max(lastTimestamp + 1, startOfTime + Math.floor(clock.getTime()));
    return hasOddTimestamps ? lastTimestamp + skewMs : lastTimestamp;
  }

  function operate(action: Extract<SyncAction, { readonly do: "create" | "disable" | "enable" }>): void {
    const { service, host } = world.getProcess(action.process);
    if (service === undefined) return;
    const externalId = formatId(action.id);
    const perform = async (): Promise<void> => {
      const from = server.getLastCommit();
      switch (action.do) {
        case "create": {
          const { topic } = await service.topics.create(toDefinition(action.id, action.variant), "admin");
          if (isReplicaSet) oracle.onCreated(topic.id, server.getMajority());
          break;
        }
        case "disable":
          await service.topicSwitch.disable(externalId, "admin");
          onSwitched(externalId, false, from);
          break;
        case "enable":
          await service.topicSwitch.enable(externalId);
          onSwitched(externalId, true, from);
          break;
      }
    };
    const onSwitched = (id: string, isActive: boolean, from: number): void => {
      if (isReplicaSet) oracle.onSwitched(id, isActive, { from, majority: server.getMajority() });
    };
    clock.schedule(host, 0, () => {
      perform().then(
        () => {
          note(`${action.do} ${externalId}`);
        },
        (error: unknown) => {
          if (!isExpected(error)) clock.fail(error);
        },
      );
    });
  }

  function act(action: SyncAction): void {
    switch (action.do) {
      case "produce": {
        const partition = action.partition % partitions;
        broker.getLog(partition).append(
          action.records.map((record) => ({
            timestamp: getTimestamp(record),
            ...toRecord(record, partition, partitions),
          })),
          action.transaction === "none" ? undefined : action.transaction,
        );
        broker.notify();
        break;
      }
      case "end transaction":
        broker.getLog(action.partition % partitions).endTransaction((lastTimestamp += 1), action.commit);
        broker.notify();
        break;
      case "create":
      case "disable":
      case "enable":
        operate(action);
        break;
      case "compact":
        broker.getLog(action.partition % partitions).compact(lastTimestamp - 1_000);
        break;
      case "truncate": {
        const { getLow, getEnd, truncate } = broker.getLog(action.partition % partitions);
        truncate(Math.floor(getLow() + (getEnd() - getLow()) * action.share));
        break;
      }
      case "recreate":
        if (isReplicaSet) broker.recreate();
        break;
      case "rebalance":
        broker.rebalance();
        break;
      case "old bounds":
        broker.showOldBounds();
        break;
      case "broker down":
        broker.goDown(action.ms);
        break;
      default:
        world.inflict(action);
    }
  }

  function getPosition(partition: number): number | undefined {
    const record = server
      .readAll(collections.positions)
      .find(({ _id }) => (_id as { readonly partition: number }).partition === partition);
    return record?.["next_offset"] as number | undefined;
  }

  const isBehind = (partition: number): boolean =>
    getPosition(partition) !== broker.getLog(partition).getEnd() ||
    (isReplicaSet && !oracle.isInLog(partition, broker.getLog(partition)));

  const hasCaughtUp = (): boolean => !broker.getPartitions().some(isBehind);

  await world.perform(steps, act);
  world.heal();
  for (const partition of broker.getPartitions()) {
    const partitionLog = broker.getLog(partition);
    partitionLog.endTransaction((lastTimestamp += 1), true);
    const timestamp = Math.max(lastTimestamp, startOfTime + Math.floor(clock.getTime())) + 200_000;
    partitionLog.append([{ timestamp, key: null, value: null }]);
    // What is not delivered moves the position, too.
    if (random.chance(0.3)) {
      partitionLog.append([{ timestamp, key: null, value: null }], "abort");
      if (random.chance(0.5)) partitionLog.compact(lastTimestamp - 1_000);
    }
  }
  broker.notify();
  await clock.runUntil(clock.getTime() + recoveryMs, hasCaughtUp);
  const behind = broker.getPartitions().filter(isBehind);
  if (behind.length > 0) {
    const places = behind.map(
      (partition) =>
        `partition ${partition} is at ${getPosition(partition) ?? "no position"} of ${broker.getLog(partition).getEnd()}`,
    );
    throw new Violation(
      `the sync has not caught up ${recoveryMs / 1_000} s after the last fault: ${places.join(", ")}`,
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
  return world.getResult(oracle.countChecks());
}

const formatId = (id: number): string => `topic-${id}`;

/** Variants overlap: several topics want one combination. */
const toDefinition = (id: number, variant: number) => ({
  externalId: formatId(id),
  name: `name ${(id + variant) % 6}`,
  namespace: "",
  headerQuery: variant === 4 ? "a=1" : "",
  contentQuery: "",
});

/** The record of a topic goes to one partition, as its key decides. */
function toRecord({ id, kind, variant }: SentRecord, partition: number, partitions: number) {
  const own = Math.floor(id / partitions) * partitions + partition;
  const key = formatId(own);
  switch (kind) {
    case "define":
      return { key, value: JSON.stringify(toDefinition(own, variant)) };
    case "retire":
      return { key, value: null };
    case "malformed":
      return { key, value: "no JSON" };
    case "keyless tombstone":
      return { key: null, value: null };
  }
}

/** What users are told in the normal course of things. */
const isExpected = (error: unknown): boolean =>
  error instanceof RejectionError || error instanceof UnavailableError || error instanceof UnknownTopicError;

const formatChanges = (changes: readonly Change[]): string =>
  changes
    .map(({ collection, after, before }) =>
      collection === collections.positions
        ? `position ${JSON.stringify({ ...after, sessions: undefined })}`
        : `${String((after ?? before)?.["topic_id"])} ${after === undefined ? "gone" : JSON.stringify([after["topic_name"], after["source"]])}`,
    )
    .join("; ");
