/**
 * A simulated Kafka cluster behind connections. Its logs keep the bytes of record batches. The leader of a
 * partition has the whole log, whichever broker that is.
 */
import { createHost, type Clock, type Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Server } from "../simulated-socket.ts";
import type { SocketNetwork } from "../sockets.ts";
import { messages, type MessageName } from "../wire/messages.ts";
import { acceptConnection, type Acceptor, type InjectedError } from "./connections.ts";
import {
  createCoordinationHandlers,
  createGroups,
  type CoordinationOptions,
  type CoordinatorKind,
  type Groups,
} from "./coordination.ts";
import { DataRequests } from "./data-requests.ts";
import { codes } from "./errors.ts";
import { Fetches, type Delivery } from "./fetches.ts";
import { createLookups } from "./lookups.ts";
import { ForeignProducers, type NewRecord } from "./foreign-producers.ts";
import type { ProducerIdentity } from "./log.ts";
import type { CommittedOffset } from "./offsets.ts";
import { toKey, type Handlers } from "./requests.ts";
import { createNode, TopicRegistry, type BrokerNode, type Partition, type Topic } from "./topics.ts";
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
  /** Since Kafka 3.0 brokers tell how transactions ended, and which are open. */
  readonly describesTransactions?: boolean;
  /** Called before a broker executes a request. Returns what its response is spoilt with, if anything. */
  readonly onRequest?: (name: MessageName) => InjectedError | undefined;
  readonly onDelivered?: (delivery: Delivery) => void;
  readonly onDecided?: (transaction: DecidedTransaction) => void;
  /** Called with what was written outside of transactions. */
  readonly onProduced?: (process: Host, partition: Partition, baseOffset: number) => void;
  /** Called with each topic that a client creates. */
  readonly onCreated?: (topic: Topic, process: Host) => void;
}

const quiet = (): void => undefined;

/** The brokers, what they know and what goes wrong with them. */
export class Cluster {
  readonly #options: ClusterOptions;
  readonly nodes: readonly BrokerNode[];
  readonly #coordinators: Record<CoordinatorKind, number>;
  readonly #availableAt: Record<CoordinatorKind, number> = { group: 0, transaction: 0 };
  /** Topics and groups that clients have no right on. */
  readonly denied = new Set<string>();
  /** Changes when other brokers take the place of these. */
  clusterId = "simulated";
  readonly #foreign = new ForeignProducers();
  readonly groups: Groups;
  readonly #fetches: Fetches;
  readonly registry: TopicRegistry;
  readonly #transactions: TransactionCoordinator;
  readonly #data: DataRequests;
  readonly #servers: readonly Server[];

  constructor(options: ClusterOptions) {
    const { clock, random, now, trace, brokers, maxBatchesPerFetch, verifies } = options;
    const { onDelivered = quiet, onDecided = quiet, onProduced = quiet, onCreated = quiet } = options;
    this.#options = options;
    this.nodes = Array.from({ length: brokers }, (_, id) => createNode(id, createHost(`broker ${id}`)));
    this.#coordinators = { group: 0, transaction: brokers - 1 };
    const getNode = (nodeId: number): BrokerNode => this.#getNode(nodeId);
    const coordination: CoordinationOptions = {
      ...{ clock, random, getNode, trace },
      getHost: (kind) => this.#getCoordinatorHost(kind),
      getCoordinator: (kind) => this.#coordinators[kind],
      isAvailable: (kind) => clock.getTime() >= this.#availableAt[kind],
    };
    this.groups = createGroups(coordination);
    const lookups = createLookups(this.denied);
    this.#fetches = new Fetches({ clock, random, getNode, lookups, maxBatchesPerFetch, onDelivered });
    const notify = (): void => {
      this.notify();
    };
    this.registry = new TopicRegistry({ clock, random, nodes: this.nodes, onChanged: notify });
    this.#transactions = new TransactionCoordinator({
      ...{ clock, random, onDecided },
      ...(verifies === undefined ? {} : { verifies }),
      getHost: () => this.#getCoordinatorHost("transaction"),
      getOffsets: (groupId) => this.groups.getOffsets(groupId),
      mark: ({ topic, partition }, producer, commit) => this.#mark(topic, partition, producer, commit),
    });
    const { registry, denied } = this;
    this.#data = new DataRequests({
      ...{ clock, random, now, registry, getNode, lookups, denied, notify, onProduced, onCreated },
      transactions: this.#transactions,
      getClusterId: () => this.clusterId,
    });
    const handlers: Handlers = {
      ...this.#data.handlers,
      ...this.#fetches.handlers,
      ...createCoordinationHandlers(
        coordination,
        { groups: this.groups, transactions: this.#transactions },
        denied,
      ),
      apiVersions2(_, respond) {
        respond({ error: codes.none, versions: listVersions(options), throttle: 0 });
      },
    };
    this.#servers = this.nodes.map((node) => this.#createServer(node, handlers));
    for (const [index, address] of this.addresses.entries())
      options.network.listen(address, this.getServer(index));
    registry.publish();
  }

  getServer(nodeId: number): Server {
    return this.#servers[nodeId % this.#servers.length] ?? this.getServer(0);
  }

  getPartition(topic: string, partition: number): Partition {
    const found = this.registry.topics.get(topic)?.partitions[partition];
    if (found === undefined) throw new Error(`there is no partition ${toKey(topic, partition)}`);
    return found;
  }

  setUp(node: BrokerNode, isUp: boolean): void {
    node.isUp = isUp;
    if (isUp) {
      this.registry.restart(node);
      return;
    }
    this.registry.leave();
    this.#options.network.resetAll(this.getServer(node.nodeId));
  }

  /** Moves everything that a broker led or coordinated to one that is up. */
  failOver(): void {
    const live = this.nodes.filter(({ isUp }) => isUp).map(({ nodeId }) => nodeId);
    for (const kind of ["group", "transaction"] as const)
      if (!live.includes(this.#coordinators[kind])) this.#moveCoordinator(kind, live[0] ?? -1);
    this.registry.failOver();
  }

  get addresses(): readonly string[] {
    return this.nodes.map(({ name, port }) => `${name}:${port}`);
  }

  get topics(): ReadonlyMap<string, Topic> {
    return this.registry.topics;
  }

  /** Deletes a topic, and the offsets that groups committed for it. */
  deleteTopic(name: string): void {
    this.registry.delete(name);
    this.deleteOffsets(name);
  }

  /** Deletes the offsets that groups committed for a topic. */
  deleteOffsets(topic: string): void {
    // Nothing would show any more that the end of a transaction is missing.
    this.#transactions.writeLostMarkers();
    this.groups.deleteTopicOffsets(topic);
  }

  /** Answers the next query of bounds as a broker does that lost its leadership some time ago. */
  showOldBounds(): void {
    this.#data.showOldBounds();
  }

  /** Creates no topics for some time. */
  refuseTopics(ms: number): void {
    this.#data.refuseTopics(ms);
  }

  delayMarkers(ms: number): void {
    this.#transactions.delayMarkers(ms);
  }

  /** For some time, transactions are complete although partitions do not get their markers (KAFKA-20734). */
  loseMarkers(ms: number, keepsOffsets = false): void {
    if (this.#options.describesTransactions !== false) this.#transactions.loseMarkers(ms, keepsOffsets);
  }

  /** Answers fetches that wait for what is there now. */
  notify(): void {
    this.#fetches.notify();
  }

  /** The former leader may hear of it late. */
  moveLeader(topic: string, partition: number, nodeId: number, unnoticedMs = 0): void {
    const found = this.registry.topics.get(topic)?.partitions[partition];
    if (found === undefined || !this.#getNode(nodeId % this.nodes.length).isUp) return;
    if (unnoticedMs > 0 && found.leader >= 0)
      this.#getNode(found.leader).lagsUntil = this.#options.clock.getTime() + unnoticedMs;
    this.registry.moveLeader(found, nodeId % this.nodes.length);
  }

  moveCoordinator(kind: CoordinatorKind, nodeId: number): void {
    if (this.#getNode(nodeId % this.nodes.length).isUp)
      this.#moveCoordinator(kind, nodeId % this.nodes.length);
  }

  /** The coordinator is being loaded, or there is none. */
  hideCoordinator(kind: CoordinatorKind, ms: number): void {
    this.#availableAt[kind] = this.#options.clock.getTime() + ms;
  }

  /** A broker hears nothing new of topics for some time. */
  lag(nodeId: number, ms: number): void {
    this.#getNode(nodeId % this.nodes.length).lagsUntil = this.#options.clock.getTime() + ms;
  }

  /** The process of a broker dies, and is started again. Others take over some time later. */
  crash(nodeId: number, { ms, failOverMs }: { readonly ms: number; readonly failOverMs: number }): void {
    const node = this.#getNode(nodeId % this.nodes.length);
    if (!node.isUp) return;
    this.setUp(node, false);
    const { clock } = this.#options;
    clock.schedule(this.#getNode((node.nodeId + 1) % this.nodes.length).host, failOverMs, () => {
      this.failOver();
    });
    clock.schedule(node.host, ms, () => {
      this.setUp(node, true);
      this.failOver();
    });
  }

  setOffset(groupId: string, topic: string, partition: number, offset: CommittedOffset | undefined): void {
    this.#transactions.writeLostMarkers();
    const offsets = this.groups.getOffsets(groupId);
    if (offset === undefined) offsets.delete(toKey(topic, partition));
    else offsets.set(toKey(topic, partition), offset);
  }

  /** A program outside of the product produces. */
  produce(
    partition: Partition,
    records: readonly NewRecord[],
    end?: "commit" | "abort" | "leave open",
  ): void {
    this.#foreign.produce(partition, records, {
      random: this.#options.random,
      isTransactional: end !== undefined,
    });
    const timestamp = records.at(-1)?.timestamp ?? this.#options.now();
    if (end === "commit" || end === "abort") this.#foreign.end(partition, end === "commit", timestamp);
    this.notify();
  }

  /** A log loses its end: a broker was elected that did not have it. */
  cut(partition: Partition, offset: number): void {
    const { log } = partition;
    log.cut(offset);
    partition.former = undefined;
    this.#foreign.handleCut(log);
    this.registry.elect(partition);
  }

  /** It ends its transaction, if there is one. */
  endTransaction(partition: Partition, commit: boolean, timestamp: number): void {
    this.#foreign.end(partition, commit, timestamp);
    this.notify();
  }

  #getNode(nodeId: number): BrokerNode {
    const node = this.nodes[nodeId];
    if (node === undefined) throw new Error(`there is no broker ${nodeId}`);
    return node;
  }

  #getCoordinatorHost(kind: CoordinatorKind): Host {
    return (this.nodes[this.#coordinators[kind]] ?? this.#getNode(0)).host;
  }

  #createServer(node: BrokerNode, handlers: Handlers): Server {
    const { trace, onRequest } = this.#options;
    const acceptor: Acceptor = {
      handlers,
      onRequest(client, { name }, request) {
        trace(() => `${client.name} asks ${name}: ${request}`);
        return onRequest?.(request);
      },
    };
    return {
      host: node.host,
      isUp: () => node.isUp,
      accept: (connection) => acceptConnection(node, acceptor, connection),
    };
  }

  /** Ends a transaction in a partition, where its leader knows of the partition. False without a leader. */
  #mark(topic: string, number: number, producer: ProducerIdentity, commit: boolean): boolean {
    const known = this.registry.topics.get(topic)?.partitions[number];
    if (known !== undefined && known.leader < 0) return false;
    const leader = this.nodes[known?.leader ?? -1];
    const partition = leader?.logs.topics.get(topic)?.partitions[number]?.partition ?? known;
    const timestamp = this.#options.now();
    partition?.log.mark(producer, { commit, timestamp, leaderEpoch: partition.leaderEpoch });
    this.notify();
    return true;
  }

  #moveCoordinator(kind: CoordinatorKind, nodeId: number): void {
    if (this.#coordinators[kind] === nodeId) return;
    this.#coordinators[kind] = nodeId;
    if (kind === "group") for (const group of this.groups.listAll()) group.reload();
  }
}

/** The versions of each request that brokers offer. */
function listVersions({ maxFetchVersion, describesTransactions = true }: ClusterOptions) {
  const max = new Map<number, number>();
  for (const { key, version } of Object.values(messages)) max.set(key, Math.max(version, max.get(key) ?? 0));
  if (!describesTransactions)
    for (const { key } of [messages.describeTransactions0, messages.describeProducers0]) max.delete(key);
  max.set(messages.fetch13.key, maxFetchVersion);
  return [...max].map(([key, version]) => ({ key, min: 0, max: version }));
}
