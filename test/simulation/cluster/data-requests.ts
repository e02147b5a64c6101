/** What brokers answer about topics and their logs. */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import { readHeader } from "../wire/batches.ts";
import { noUuid } from "../wire/format.ts";
import type { Request, Response } from "../wire/messages.ts";
import type { Bounds } from "./copies.ts";
import { codes } from "./errors.ts";
import { readCommitted } from "./fetches.ts";
import type { Lookups } from "./lookups.ts";
import { mapPartitions, type Handlers, type RequestContext } from "./requests.ts";
import { checkBatch, checkNewTopic, isValidName } from "./rejections.ts";
import type { BrokerNode, Partition, Topic, TopicRegistry } from "./topics.ts";
import type { TransactionCoordinator } from "./transactions.ts";

export interface DataOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly registry: TopicRegistry;
  readonly getNode: (nodeId: number) => BrokerNode;
  readonly transactions: TransactionCoordinator;
  readonly lookups: Lookups;
  readonly denied: ReadonlySet<string>;
  /** Answers fetches that wait. */
  readonly notify: () => void;
  /** Called with what was written outside of transactions. */
  readonly onProduced: (process: Host, partition: Partition, baseOffset: number) => void;
  /** Called with each topic that a client creates. */
  readonly onCreated: (topic: Topic) => void;
}

const earliest = -2;
const latest = -1;
const createDelayMs = 5;
/** Among what clients have no right on: to create topics. */
export const creation = "creation of topics";

export function createDataHandlers(options: DataOptions) {
  const { clock, random, registry, getNode, transactions, lookups, denied, notify, onProduced, onCreated } =
    options;
  const { findNamed } = lookups;
  /** What ListOffsets returned last, by partition. */
  const lastBounds = new Map<Partition, Bounds>();
  let showsOldBounds = false;
  let refusesTopicsUntil = 0;

  function listOffset(
    node: BrokerNode,
    { topic, partition: number, timestamp, isolationLevel }: OffsetQuery,
  ): Response<"listOffsets3">["topics"][number]["partitions"][number] {
    const { error, partition, bounds: current } = findNamed(node, topic, number);
    const found = { partition: number, error, timestamp: -1, offset: -1 };
    if (partition === undefined) return found;
    const bounds = showsOldBounds ? (lastBounds.get(partition) ?? current) : current;
    lastBounds.set(partition, current);
    const last = isolationLevel === readCommitted ? bounds.stable : bounds.end;
    if (timestamp === latest) return { ...found, offset: last };
    if (timestamp === earliest) return { ...found, offset: bounds.low };
    return { ...found, ...partition.log.findFirstSince(timestamp, last) };
  }

  function append(
    { transactionalId }: Request<"produce7">,
    { node, topic, number, records }: { node: BrokerNode; topic: string; number: number; records: Buffer },
    process: Host,
  ) {
    const { error, partition } = findNamed(node, topic, number);
    const result = { partition: number, error, baseOffset: -1, logAppendTime: -1, logStartOffset: 0 };
    if (partition === undefined) return result;
    if (partition.leader !== node.nodeId) return { ...result, error: codes.notLeader };
    const refusal = checkBatch(records, node.logs.topics.get(topic)?.topic, options.now());
    if (refusal !== codes.none) return { ...result, error: refusal };
    const identity = { transactionalId: transactionalId ?? "", ...readHeader(records) };
    const { end } = partition.log;
    const appended = partition.log.append(records, partition.leaderEpoch, () =>
      transactions.verify(identity, partition),
    );
    if (appended.error === codes.none) {
      if (transactionalId === null) onProduced(process, partition, appended.baseOffset);
      else transactions.onWritten(identity, partition, end);
    }
    return { ...result, ...appended };
  }

  const getRequested = (node: BrokerNode, names: readonly string[] | null): readonly string[] =>
    names ?? [...node.metadata.topics.keys()].filter((name) => !denied.has(name));

  function describeTopic(node: BrokerNode, topic: string) {
    const known = node.metadata.topics.get(topic);
    const base = { topic, isInternal: false, partitions: [], id: noUuid };
    if (denied.has(topic)) return { ...base, error: codes.topicDenied };
    if (!isValidName(topic)) return { ...base, error: codes.invalidTopic };
    if (known === undefined) return { ...base, error: codes.unknownTopicOrPartition };
    return {
      ...base,
      error: codes.none,
      id: known.id,
      partitions: known.partitions.map(({ leader, leaderEpoch }, partition) => ({
        error: leader < 0 ? codes.leaderNotAvailable : codes.none,
        partition,
        leader,
        leaderEpoch,
        replicas: [0, 1],
        isr: node.metadata.live,
        offline: [],
      })),
    };
  }

  const describeCluster = ({ metadata: { live } }: BrokerNode) => ({
    throttle: 0,
    brokers: live.map((nodeId) => {
      const { name, port } = getNode(nodeId);
      return { nodeId, host: name, port, rack: null };
    }),
    clusterId: "simulated",
    controllerId: live[0] ?? -1,
  });

  const answerMetadata = (
    { topics }: Request<"metadata6">,
    respond: (response: Response<"metadata6">) => void,
    { brokerId }: RequestContext,
  ): void => {
    const node = getNode(brokerId);
    respond({
      ...describeCluster(node),
      topics: getRequested(node, topics).map((topic) => describeTopic(node, topic)),
    });
  };

  const handlers: Handlers<
    | "metadata5"
    | "metadata6"
    | "metadata12"
    | "listOffsets3"
    | "produce7"
    | "createTopics3"
    | "describeConfigs2"
  > = {
    metadata5: answerMetadata,
    metadata6: answerMetadata,
    metadata12({ topics }, respond, { brokerId }) {
      const node = getNode(brokerId);
      const names = topics === null ? null : topics.map(({ topic }) => topic ?? "");
      respond({
        ...describeCluster(node),
        topics: getRequested(node, names).map((topic) => {
          const { id, ...description } = describeTopic(node, topic);
          return { ...description, topicId: id, operations: -(2 ** 31) };
        }),
      });
    },

    listOffsets3({ isolationLevel, topics }, respond, { brokerId }) {
      respond({
        throttle: 0,
        topics: mapPartitions(topics, (topic, one) =>
          listOffset(getNode(brokerId), { topic, ...one, isolationLevel }),
        ),
      });
      showsOldBounds = false;
    },

    produce7(body, respond, { brokerId, client }) {
      const node = getNode(brokerId);
      const topics = mapPartitions(body.topics, (topic, { partition, records }) =>
        append(body, { node, topic, number: partition, records }, client),
      );
      notify();
      respond({ throttle: 0, topics });
    },

    createTopics3({ topics }, respond, { brokerId }) {
      const isRefused = clock.getTime() < refusesTopicsUntil;
      const results = topics.map(({ topic, partitions, replicationFactor, configs }) => {
        const fail = (error: number) => ({ topic, error, errorMessage: null });
        if (denied.has(topic) || denied.has(creation)) return fail(codes.topicDenied);
        if (registry.topics.has(topic)) return fail(codes.topicExists);
        const refusal = checkNewTopic({ topic, partitions, replicationFactor, configs }, getNode(brokerId));
        if (refusal !== codes.none) return fail(refusal);
        if (isRefused) return fail(random.pick([codes.invalidReplicationFactor, codes.notController]));
        const settings = new Map(configs.map(({ name, value }) => [name, value ?? ""]));
        onCreated(registry.create({ name: topic, partitions: Math.max(1, partitions), settings }));
        return fail(codes.none);
      });
      clock.schedule(getNode(brokerId).host, createDelayMs, () => {
        respond({ throttle: 0, topics: results });
      });
    },

    describeConfigs2({ resources }, respond) {
      respond({
        throttle: 0,
        resources: resources.map(({ type, name, names }) => {
          const settings = registry.topics.get(name)?.settings ?? new Map<string, string>();
          const entries = (names ?? [...settings.keys()]).flatMap((one) => {
            const value = settings.get(one);
            const rest = { isReadOnly: false, source: 1, isSensitive: false, synonyms: [] };
            return value === undefined ? [] : [{ name: one, value, ...rest }];
          });
          return {
            error: denied.has(name) ? codes.topicDenied : codes.none,
            errorMessage: null,
            type,
            name,
            entries,
          };
        }),
      });
    },
  };

  return {
    handlers,
    /** Answers the next query of bounds as a broker does that lost its leadership some time ago. */
    showOldBounds(): void {
      showsOldBounds = true;
    },
    refuseTopics(ms: number): void {
      refusesTopicsUntil = clock.getTime() + ms;
    },
  };
}

interface OffsetQuery {
  readonly topic: string;
  readonly partition: number;
  readonly timestamp: number;
  readonly isolationLevel: number;
}
