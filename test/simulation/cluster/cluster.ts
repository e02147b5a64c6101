/**
 * A simulated Kafka cluster behind connections. Its logs keep the bytes of record batches. The leader of a
 * partition has the whole log, whichever broker that is.
 */
import { createHost, type Clock, type Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Server } from "../simulated-socket.ts";
import type { SocketNetwork } from "../sockets.ts";
import { createBatch, type BatchRecord } from "../wire/batches.ts";
import { messages, type MessageName } from "../wire/messages.ts";
import { acceptConnection } from "./connections.ts";
import { createCoordinationHandlers, createGroups, type CoordinatorKind } from "./coordination.ts";
import { createDataHandlers } from "./data-requests.ts";
import { codes } from "./errors.ts";
import { createFetchHandlers, type Delivery } from "./fetches.ts";
import { createLookups } from "./lookups.ts";
import type { PartitionLog, ProducerIdentity } from "./log.ts";
import type { CommittedOffset } from "./offsets.ts";
import { toKey, type Handlers } from "./requests.ts";
import { createNode, createTopicRegistry, type BrokerNode, type Partition, type Topic } from "./topics.ts";
import { TransactionCoordinator, type DecidedTransaction } from "./transactions.ts";

export interface ClusterOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: SocketNetwork;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly trace: (getText: () => string) => void;
  readonly brokers: number;
  readonly maxBatchesPerFetch: number;
  /** The last version of Fetch that brokers have. */
  readonly maxFetchVersion: number;
  /**
   * Whether partitions and groups ask the coordinator before a transaction begins in them; by chance when it
   * is left out.
   */
  readonly verifies?: boolean;
  /** Called before a broker executes a request. */
  readonly onRequest?: (name: MessageName) => void;
  readonly onDelivered?: (delivery: Delivery) => void;
  readonly onDecided?: (transaction: DecidedTransaction) => void;
  /** Called with what was written outside of transactions. */
  readonly onProduced?: (process: Host, partition: Partition, baseOffset: number) => void;
  /** Called with each topic that a client creates. */
  readonly onCreated?: (topic: Topic) => void;
}

/** A transaction of a program outside of the product. */
interface ForeignTransaction extends ProducerIdentity {
  nextSequence: number;
  isOpen: boolean;
}

const firstForeignProducer = 1_000_000;
const quiet = (): void => undefined;

export function createCluster(options: ClusterOptions) {
  const { clock, random, network, now, trace, onDelivered = quiet, onDecided = quiet } = options;
  const nodes: readonly BrokerNode[] = Array.from({ length: options.brokers }, (_, id) =>
    createNode(id, createHost(`broker ${id}`)),
  );
  const coordinators: Record<CoordinatorKind, number> = { group: 0, transaction: options.brokers - 1 };
  const availableAt: Record<CoordinatorKind, number> = { group: 0, transaction: 0 };
  /** Topics and groups that clients have no right on. */
  const denied = new Set<string>();
  const foreign = new Map<PartitionLog, ForeignTransaction>();
  let nextForeignProducer = firstForeignProducer;

  function getNode(nodeId: number): BrokerNode {
    const node = nodes[nodeId];
    if (node === undefined) throw new Error(`there is no broker ${nodeId}`);
    return node;
  }

  const coordination = {
    clock,
    random,
    getNode,
    trace,
    getHost: (kind: CoordinatorKind): Host => (nodes[coordinators[kind]] ?? getNode(0)).host,
    getCoordinator: (kind: CoordinatorKind): number => coordinators[kind],
    isAvailable: (kind: CoordinatorKind): boolean => clock.getTime() >= availableAt[kind],
  };
  const groups = createGroups(coordination);
  const lookups = createLookups(denied);
  const fetches = createFetchHandlers({
    clock,
    random,
    getNode,
    lookups,
    maxBatchesPerFetch: options.maxBatchesPerFetch,
    onDelivered,
  });
  const registry = createTopicRegistry({ clock, random, nodes, onChanged: fetches.notify });
  const transactions = new TransactionCoordinator({
    clock,
    random,
    ...(options.verifies === undefined ? {} : { verifies: options.verifies }),
    getHost: () => coordination.getHost("transaction"),
    getOffsets: (groupId) => groups.getOffsets(groupId),
    onDecided,
    mark({ topic, partition: number }, producer, commit) {
      const known = registry.topics.get(topic)?.partitions[number];
      const leader = nodes[known?.leader ?? -1];
      const partition = leader?.logs.topics.get(topic)?.partitions[number]?.partition ?? known;
      partition?.log.mark(producer, { commit, timestamp: now(), leaderEpoch: partition.leaderEpoch });
      fetches.notify();
    },
  });
  const data = createDataHandlers({
    ...{ clock, random, now, registry, getNode, transactions, lookups, denied },
    notify: fetches.notify,
    onProduced: options.onProduced ?? quiet,
    onCreated: options.onCreated ?? quiet,
  });
  const versions = Object.values(messages).map(({ key, version }) => ({ key, version }));
  const maxVersions = new Map<number, number>();
  for (const { key, version } of versions) maxVersions.set(key, Math.max(version, maxVersions.get(key) ?? 0));
  maxVersions.set(messages.fetch13.key, options.maxFetchVersion);
  const handlers: Handlers = {
    ...data.handlers,
    ...fetches.handlers,
    ...createCoordinationHandlers(coordination, { groups, transactions }, denied),
    apiVersions2(_, respond) {
      const offered = [...maxVersions].map(([key, max]) => ({ key, min: 0, max }));
      respond({ error: codes.none, versions: offered, throttle: 0 });
    },
  };
  const onRequest = (client: Host, { name }: BrokerNode, request: MessageName): void => {
    trace(() => `${client.name} asks ${name}: ${request}`);
    options.onRequest?.(request);
  };
  const servers: readonly Server[] = nodes.map((node) => ({
    host: node.host,
    isUp: () => node.isUp,
    accept: (connection) => acceptConnection(node, { handlers, onRequest }, connection),
  }));
  for (const [index, server] of servers.entries())
    network.listen(`${getNode(index).name}:${getNode(index).port}`, server);
  registry.publish();

  const getServer = (nodeId: number): Server => servers[nodeId % servers.length] ?? getServer(0);

  function getPartition(topic: string, partition: number): Partition {
    const found = registry.topics.get(topic)?.partitions[partition];
    if (found === undefined) throw new Error(`there is no partition ${toKey(topic, partition)}`);
    return found;
  }

  function moveCoordinator(kind: CoordinatorKind, nodeId: number): void {
    if (coordinators[kind] === nodeId) return;
    coordinators[kind] = nodeId;
    if (kind === "group") for (const group of groups.listAll()) group.reload();
  }

  function setUp(node: BrokerNode, isUp: boolean): void {
    node.isUp = isUp;
    if (isUp) {
      registry.restart(node);
      return;
    }
    registry.leave();
    network.resetAll(getServer(node.nodeId));
  }

  /** Moves everything that a broker led or coordinated to one that is up. */
  function failOver(): void {
    const live = nodes.filter(({ isUp }) => isUp).map(({ nodeId }) => nodeId);
    for (const kind of ["group", "transaction"] as const)
      if (!live.includes(coordinators[kind])) moveCoordinator(kind, live[0] ?? -1);
    registry.failOver();
  }

  return {
    addresses: nodes.map(({ name, port }) => `${name}:${port}`),
    topics: registry.topics,
    registry,
    /** Deletes a topic, and the offsets that groups committed for it. */
    deleteTopic(name: string): void {
      registry.delete(name);
      groups.deleteTopicOffsets(name);
    },
    getPartition,
    getServer,
    groups,
    denied,
    /** Answers the next query of bounds as a broker does that lost its leadership some time ago. */
    showOldBounds: () => {
      data.showOldBounds();
    },
    /** Creates no topics for some time. */
    refuseTopics: (ms: number) => {
      data.refuseTopics(ms);
    },
    delayMarkers: (ms: number) => {
      transactions.delayMarkers(ms);
    },
    notify: fetches.notify,

    /** The former leader may hear of it late. */
    moveLeader(topic: string, partition: number, nodeId: number, unnoticedMs = 0): void {
      const found = registry.topics.get(topic)?.partitions[partition];
      if (found === undefined || !getNode(nodeId % nodes.length).isUp) return;
      if (unnoticedMs > 0 && found.leader >= 0)
        getNode(found.leader).lagsUntil = clock.getTime() + unnoticedMs;
      registry.moveLeader(found, nodeId % nodes.length);
    },
    moveCoordinator(kind: CoordinatorKind, nodeId: number): void {
      if (getNode(nodeId % nodes.length).isUp) moveCoordinator(kind, nodeId % nodes.length);
    },
    /** The coordinator is being loaded, or there is none. */
    hideCoordinator(kind: CoordinatorKind, ms: number): void {
      availableAt[kind] = clock.getTime() + ms;
    },
    /** A broker hears nothing new of topics for some time. */
    lag(nodeId: number, ms: number): void {
      getNode(nodeId % nodes.length).lagsUntil = clock.getTime() + ms;
    },
    /** The process of a broker dies, or is started again. What it led and coordinated stays with it. */
    setUp,
    failOver,
    /** The process of a broker dies, and is started again. Others take over some time later. */
    crash(nodeId: number, { ms, failOverMs }: { readonly ms: number; readonly failOverMs: number }): void {
      const node = getNode(nodeId % nodes.length);
      if (!node.isUp) return;
      setUp(node, false);
      clock.schedule(getNode((node.nodeId + 1) % nodes.length).host, failOverMs, failOver);
      clock.schedule(node.host, ms, () => {
        setUp(node, true);
        failOver();
      });
    },
    nodes,
    setOffset(groupId: string, topic: string, partition: number, offset: CommittedOffset | undefined): void {
      const offsets = groups.getOffsets(groupId);
      if (offset === undefined) offsets.delete(toKey(topic, partition));
      else offsets.set(toKey(topic, partition), offset);
    },

    /** A program outside of the product produces. */
    produce(
      partition: Partition,
      records: readonly NewRecord[],
      end?: "commit" | "abort" | "leave open",
    ): void {
      for (const batch of splitIntoBatches(records, random))
        produceBatch(partition, batch, end !== undefined);
      const timestamp = records.at(-1)?.timestamp ?? now();
      if (end === "commit" || end === "abort") endTransaction(partition, end === "commit", timestamp);
      fetches.notify();
    },
    /** A log loses its end: a broker was elected that did not have it. */
    cut(partition: Partition, offset: number): void {
      const { log } = partition;
      log.cut(offset);
      partition.former = undefined;
      const producer = foreign.get(log);
      if (producer !== undefined) {
        producer.isOpen = log.hasOpenTransaction;
        producer.nextSequence = log.getNextSequence(producer.producerId);
      }
      registry.elect(partition);
    },
    /** It ends its transaction, if there is one. */
    endTransaction(partition: Partition, commit: boolean, timestamp: number): void {
      endTransaction(partition, commit, timestamp);
      fetches.notify();
    },
  };

  function produceBatch(
    { log, leaderEpoch }: Partition,
    records: readonly NewRecord[],
    isTransactional: boolean,
  ): void {
    const numbered = records.map((record, offsetDelta) => ({ ...record, offsetDelta }));
    if (!isTransactional) {
      log.append(createBatch(numbered), leaderEpoch);
      return;
    }
    let producer = foreign.get(log);
    producer ??= { producerId: nextForeignProducer++, producerEpoch: 0, nextSequence: 0, isOpen: true };
    producer.isOpen = true;
    foreign.set(log, producer);
    const { producerId, producerEpoch, nextSequence: firstSequence } = producer;
    log.append(
      createBatch(numbered, { producerId, producerEpoch, firstSequence, isTransactional }),
      leaderEpoch,
    );
    producer.nextSequence += records.length;
  }

  function endTransaction({ log, leaderEpoch }: Partition, commit: boolean, timestamp: number): void {
    const producer = foreign.get(log);
    if (producer?.isOpen !== true) return;
    producer.isOpen = false;
    log.mark(producer, { commit, timestamp, leaderEpoch });
  }
}

export type NewRecord = Omit<BatchRecord, "offsetDelta">;

/** Producers send what they have at the moment. */
function* splitIntoBatches(records: readonly NewRecord[], random: Random): Generator<readonly NewRecord[]> {
  for (let at = 0; at < records.length;) {
    const count = random.between(1, records.length - at + 1);
    yield records.slice(at, at + count);
    at += count;
  }
}

export type Cluster = ReturnType<typeof createCluster>;
