/** What brokers answer about topics and their logs. */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import { readHeader } from "../wire/batches.ts";
import { noUuid } from "../wire/format.ts";
import type { Request, Response } from "../wire/messages.ts";
import type { Bounds } from "./copies.ts";
import { codes } from "./errors.ts";
import { readCommitted } from "./fetches.ts";
import { nameFetching, type Found, type Lookups } from "./lookups.ts";
import { mapPartitions, type Handler, type Handlers, type RequestContext } from "./requests.ts";
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
  readonly onCreated: (topic: Topic, process: Host) => void;
  readonly getClusterId: () => string;
}

const earliest = -2;
const latest = -1;
const createDelayMs = 5;
/** Among what clients have no right on: to create topics. */
export const creation = "creation of topics";

/** Handles requests for metadata, bounds, settings and new records. */
export class DataRequests {
  readonly #options: DataOptions;
  /** What ListOffsets returned last, by partition. */
  readonly #lastBounds = new Map<Partition, Bounds>();
  #showsOldBounds = false;
  #refusesTopicsUntil = 0;

  constructor(options: DataOptions) {
    this.#options = options;
  }

  /** Answers the next query of bounds as a broker does that lost its leadership some time ago. */
  showOldBounds(): void {
    this.#showsOldBounds = true;
  }

  refuseTopics(ms: number): void {
    this.#refusesTopicsUntil = this.#options.clock.getTime() + ms;
  }

  #listOffset(
    node: BrokerNode,
    { topic, partition: number, timestamp, isolationLevel }: OffsetQuery,
  ): Response<"listOffsets3">["topics"][number]["partitions"][number] {
    const { error, partition, bounds: current } = this.#options.lookups.findNamed(node, topic, number);
    const found = { partition: number, error, timestamp: -1, offset: -1 };
    if (partition === undefined) return found;
    const bounds = this.#showsOldBounds ? (this.#lastBounds.get(partition) ?? current) : current;
    this.#lastBounds.set(partition, current);
    const last = isolationLevel === readCommitted ? bounds.stable : bounds.end;
    if (timestamp === latest) return { ...found, offset: last };
    if (timestamp === earliest) return { ...found, offset: bounds.low };
    return { ...found, ...partition.log.findFirstSince(timestamp, last) };
  }

  #append(
    { transactionalId }: Request<"produce7">,
    { node, topic, number, records }: { node: BrokerNode; topic: string; number: number; records: Buffer },
    process: Host,
  ) {
    const { error, partition } = this.#options.lookups.findNamed(node, topic, number);
    const result = { partition: number, error, baseOffset: -1, logAppendTime: -1, logStartOffset: 0 };
    if (partition === undefined) return result;
    if (partition.leader !== node.nodeId) return { ...result, error: codes.notLeader };
    const refusal = checkBatch(records, node.logs.topics.get(topic)?.topic, this.#options.now());
    if (refusal !== codes.none) return { ...result, error: refusal };
    const identity = { transactionalId: transactionalId ?? "", ...readHeader(records) };
    const { end } = partition.log;
    const appended = partition.log.append(records, partition.leaderEpoch, () =>
      this.#options.transactions.verify(identity, partition),
    );
    if (appended.error === codes.none) {
      if (transactionalId === null) this.#options.onProduced(process, partition, appended.baseOffset);
      else this.#options.transactions.onWritten(identity, partition, end);
    }
    return { ...result, ...appended };
  }

  #getRequested(node: BrokerNode, names: readonly string[] | null): readonly string[] {
    return names ?? [...node.metadata.topics.keys()].filter((name) => !this.#options.denied.has(name));
  }

  #describeTopic(node: BrokerNode, topic: string) {
    const known = node.metadata.topics.get(topic);
    const base = { topic, isInternal: false, partitions: [], id: noUuid };
    if (this.#options.denied.has(topic)) return { ...base, error: codes.topicDenied };
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

  #describeCluster({ metadata: { live } }: BrokerNode) {
    return {
      throttle: 0,
      brokers: live.map((nodeId) => {
        const { name, port } = this.#options.getNode(nodeId);
        return { nodeId, host: name, port, rack: null };
      }),
      clusterId: this.#options.getClusterId(),
      controllerId: live[0] ?? -1,
    };
  }

  readonly #describeByNames = (
    { topics }: Request<"metadata6">,
    respond: (response: Response<"metadata6">) => void,
    { brokerId }: RequestContext,
  ): void => {
    const node = this.#options.getNode(brokerId);
    respond({
      ...this.#describeCluster(node),
      topics: this.#getRequested(node, topics).map((topic) => this.#describeTopic(node, topic)),
    });
  };

  readonly #describeByIds: Handler<"metadata12"> = ({ topics }, respond, { brokerId }) => {
    const node = this.#options.getNode(brokerId);
    const names = topics === null ? null : topics.map(({ topic }) => topic ?? "");
    respond({
      ...this.#describeCluster(node),
      topics: this.#getRequested(node, names).map((topic) => {
        const { id, ...description } = this.#describeTopic(node, topic);
        return { ...description, topicId: id, operations: -(2 ** 31) };
      }),
    });
  };

  readonly #listOffsets: Handler<"listOffsets3"> = ({ isolationLevel, topics }, respond, { brokerId }) => {
    respond({
      throttle: 0,
      topics: mapPartitions(topics, (topic, one) =>
        this.#listOffset(this.#options.getNode(brokerId), { topic, ...one, isolationLevel }),
      ),
    });
    this.#showsOldBounds = false;
  };

  readonly #produce: Handler<"produce7"> = (body, respond, { brokerId, client }) => {
    const node = this.#options.getNode(brokerId);
    const topics = mapPartitions(body.topics, (topic, { partition, records }) =>
      this.#append(body, { node, topic, number: partition, records }, client),
    );
    this.#options.notify();
    respond({ throttle: 0, topics });
  };

  readonly #createTopics: Handler<"createTopics3"> = ({ topics }, respond, { brokerId, client }) => {
    const isRefused = this.#options.clock.getTime() < this.#refusesTopicsUntil;
    const results = topics.map(({ topic, partitions, replicationFactor, configs }) => {
      const fail = (error: number) => ({ topic, error, errorMessage: null });
      if (this.#options.denied.has(topic) || this.#options.denied.has(creation))
        return fail(codes.topicDenied);
      if (this.#options.registry.topics.has(topic)) return fail(codes.topicExists);
      const refusal = checkNewTopic(
        { topic, partitions, replicationFactor, configs },
        this.#options.getNode(brokerId),
      );
      if (refusal !== codes.none) return fail(refusal);
      if (isRefused)
        return fail(this.#options.random.pick([codes.invalidReplicationFactor, codes.notController]));
      const settings = new Map(configs.map(({ name, value }) => [name, value ?? ""]));
      this.#options.onCreated(
        this.#options.registry.create({ name: topic, partitions: Math.max(1, partitions), settings }),
        client,
      );
      return fail(codes.none);
    });
    this.#options.clock.schedule(this.#options.getNode(brokerId).host, createDelayMs, () => {
      respond({ throttle: 0, topics: results });
    });
  };

  readonly #describeConfigs: Handler<"describeConfigs2"> = ({ resources }, respond) => {
    respond({
      throttle: 0,
      resources: resources.map(({ type, name, names }) => {
        const settings = this.#options.registry.topics.get(name)?.settings ?? new Map<string, string>();
        const entries = (names ?? [...settings.keys()]).flatMap((one) => {
          const value = settings.get(one);
          const rest = { isReadOnly: false, source: 1, isSensitive: false, synonyms: [] };
          return value === undefined ? [] : [{ name: one, value, ...rest }];
        });
        return {
          error: this.#options.denied.has(name) ? codes.topicDenied : codes.none,
          errorMessage: null,
          type,
          name,
          entries,
        };
      }),
    });
  };

  readonly #describeProducers: Handler<"describeProducers0"> = ({ topics }, respond, { brokerId }) => {
    const node = this.#options.getNode(brokerId);
    respond({
      throttle: 0,
      topics: mapPartitions(topics, (topic, number) => {
        const { denied, lookups } = this.#options;
        const isDenied = denied.has(nameFetching(topic));
        const found: Found = isDenied ? { error: codes.topicDenied } : lookups.findNamed(node, topic, number);
        const { error, partition } = found;
        const open = partition?.log.listOpen() ?? [];
        return {
          ...{ partition: number, error, errorMessage: null },
          producers: open.map(({ producerId, producerEpoch, firstOffset }) => ({
            ...{ producerId, producerEpoch, lastSequence: 0, lastTimestamp: 0, coordinatorEpoch: 0 },
            transactionStart: firstOffset,
          })),
        };
      }),
    });
  };

  readonly handlers = {
    metadata5: this.#describeByNames,
    metadata6: this.#describeByNames,
    metadata12: this.#describeByIds,
    listOffsets3: this.#listOffsets,
    produce7: this.#produce,
    createTopics3: this.#createTopics,
    describeConfigs2: this.#describeConfigs,
    describeProducers0: this.#describeProducers,
  } satisfies Partial<Handlers>;
}

interface OffsetQuery {
  readonly topic: string;
  readonly partition: number;
  readonly timestamp: number;
  readonly isolationLevel: number;
}
