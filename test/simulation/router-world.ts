/**
 * A world for the router: processes that run the product's reader, handler, index of topics, Kafka client and
 * transactions unchanged, with kafkajs itself, over simulated connections to a simulated Kafka cluster and a
 * simulated store of topics.
 */
import type { Broker } from "@topicsync/kafka/client";
import { choosePartition, createEgressNaming, type Partition } from "@topicsync/kafka";
import { retryUntilAvailable } from "@topicsync/lib/concurrency/retry";
import { createEventHandler } from "../../consumers/events/handler.ts";
import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { readConfig } from "../../src/config/config.ts";
import { LiveTopicIndex } from "../../src/topics/live/live-topic-index.ts";
import { createLogStore } from "../../src/storage/logs.ts";
import {
  createRandom,
  withSimulatedTimers,
  type DecidedTransaction,
  type Delivery,
  type Host,
  type Random,
} from "../simulated-servers/index.ts";
import { KafkaWorld } from "./kafka-world.ts";
import { EgressInventory, templates, type NamedBy } from "./router-egress.ts";
import { EventsTopic } from "./router-events.ts";
import { RouterOracle } from "./router-oracle.ts";
import { RouterPositions } from "./router-positions.ts";
import {
  recover,
  routerLastingFaults,
  waitForConnections,
  type RouterLastingFault,
} from "./router-recovery.ts";
import { disturbsStore, type RouterAction } from "./router-actions.ts";
import { RouterTopics, settleMs } from "./router-topics.ts";
import type { Step } from "./steps.ts";
import { World, type OnTrace, type Process, type WorldResult } from "./world.ts";

interface Service {
  readonly broker: Broker;
  readonly consumer: GroupConsumer;
}

const groupId = "router";
const eventsTopic = "events";
const deadLetterTopic = "dead-letters";
const topicCount = 4;
/** Codes of MongoDB: change streams end with the first, and are not opened without a right. */
const historyLost = 286;
const unauthorized = 13;
/** How late a broker knows of a topic at most, when nothing makes it lag. */
const maxPublishMs = 100;

/** Runs steps in a world that the seed determines. Throws a Violation. */
export const runRouterWorld = (
  seed: number,
  steps: readonly Step<RouterAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> => withSimulatedTimers(seed, () => new RouterWorld(seed, onTrace).run(steps));

class RouterWorld {
  readonly #world: World<Service>;
  readonly #kafka: KafkaWorld<Service>;
  readonly #positions: RouterPositions;
  readonly #events: EventsTopic;
  readonly #topics: RouterTopics;
  readonly #inventory: EgressInventory;
  readonly #oracle: RouterOracle;
  readonly #limits: Random;
  readonly #unmatchedTopic: string | undefined;
  readonly #namedBy: NamedBy;
  readonly #maxCopies: number;
  readonly #maxRecordsPerWrite: number;
  readonly #lasting: RouterLastingFault;
  readonly #newEgress: { readonly partitions: number | undefined } | undefined;
  /** How many Kafka topics a process may create. */
  readonly #maxCreated: number;
  #maxLagMs = 0;

  constructor(seed: number, onTrace: OnTrace | undefined) {
    this.#world = this.#createWorld(seed, onTrace);
    const { clock, random, network, server, log, openDatabase, brokerHost: host } = this.#world;
    this.#unmatchedTopic = random.pick([undefined, "unmatched"]);
    this.#namedBy = random.pick<NamedBy>(["nothing", "external id", "namespace"]);
    const hasOddTimestamps = random.chance(0.5);
    // Chance of its own, so that a further limit does not change which faults follow.
    const limits = createRandom(seed + 3);
    this.#limits = limits;
    this.#maxCopies = limits.pick([10_000, 10_000, 2]);
    this.#maxRecordsPerWrite = limits.pick([4_000, 4_000, 2]);
    const lasting = limits.pick<RouterLastingFault>(routerLastingFaults);
    const isDark = lasting === "nothing" && createRandom(seed + 8).chance(0.3);
    this.#lasting = isDark ? "events partition without a leader" : lasting;
    this.#newEgress = limits.pick([undefined, { partitions: limits.pick([undefined, 2]) }]);
    this.#maxCreated = createRandom(seed + 7).pick([Infinity, Infinity, 1, 2]);
    this.#kafka = this.#createKafka(seed);
    const { cluster, hasTopicIds } = this.#kafka;
    const positions = new RouterPositions({ hasTopicIds });
    this.#positions = positions;
    this.#events = new EventsTopic({
      ...{ clock, cluster, groupId, hasOddTimestamps, hasTopicIds, positions },
      ...{ host, name: eventsTopic },
    });
    this.#events.create(random.pick([1, 2]));
    cluster.registry.create({ name: deadLetterTopic, partitions: random.pick([1, 2]) });
    this.#topics = new RouterTopics({ clock, random, network, server, log, openDatabase }, topicCount);
    const [topics, unmatchedTopic] = [this.#topics, this.#unmatchedTopic];
    this.#inventory = new EgressInventory({
      ...{ clock, random, cluster, topics, namedBy: this.#namedBy, unmatchedTopic },
      isCreating: this.#newEgress !== undefined,
      maxCreated: this.#maxCreated,
      getMaxLagMs: () => this.#maxLagMs + maxPublishMs,
    });
    this.#oracle = new RouterOracle({
      ...{ topic: eventsTopic, positions, topics, deadLetterTopic, unmatchedTopic },
      maxCopies: this.#maxCopies,
      getTime: clock.getTime,
      getEgressName: (version) => this.#inventory.getName(version),
      findOutcomes: (sent) => this.#inventory.findOutcomes(sent),
      listCounts: (name, since, until) => this.#inventory.listCounts(name, since, until),
    });
  }

  async run(steps: readonly Step<RouterAction>[]): Promise<WorldResult> {
    const { random, note } = this.#world;
    const { cluster } = this.#kafka;
    if (steps.some(({ action }) => action.do === "rename topic")) this.#topics.expectRenames();
    for (let id = 0; id < topicCount; id += 1) this.#topics.change(id, random.between(0, 12));
    // Most of those that are missing are needed by the first events.
    if (this.#newEgress !== undefined && this.#limits.chance(0.5))
      cluster.refuseTopics(this.#limits.between(4_000, 20_000));
    await this.#world.perform(steps, (action) => {
      this.#act(action);
    });
    this.#kafka.heal();
    cluster.registry.giveLeaders();
    this.#inventory.grantAll();
    this.#events.create(1);
    await this.#recover();
    this.#oracle.checkFinal(this.#inventory.listLogs());
    this.#topics.checkLast();
    note(this.#oracle.describe());
    return this.#kafka.getResult(this.#oracle.countChecks());
  }

  #createWorld(seed: number, onTrace: OnTrace | undefined): World<Service> {
    return new World<Service>({
      seed,
      onTrace,
      start: (process) => this.#start(process),
      async stop({ broker, consumer }) {
        await consumer.stop();
        await broker.close();
      },
      onGone: (host) => {
        this.#kafka.sockets.forget(host);
      },
      mayLogError: (message) =>
        (this.#positions.hasCuts && message.startsWith("kafka lost records")) ||
        (this.#positions.hasMoved && message.startsWith("partition paused: its position belongs to another")),
    });
  }

  #createKafka(seed: number): KafkaWorld<Service> {
    const { random } = this.#world;
    return new KafkaWorld({
      ...{ world: this.#world, groupId },
      chooseLimits: () => ({
        brokers: 2,
        maxBatchesPerFetch: random.pick([1, 3, 20]),
        maxFetchVersion: random.pick([17, 17, 13, 11]),
        // Chance of its own, so that the others stay what they were.
        describesTransactions: createRandom(seed + 6).chance(0.5),
      }),
      onDelivered: (delivery) => {
        this.#onDelivered(delivery);
      },
      onDecided: (transaction) => {
        this.#onDecided(transaction);
      },
      onCreated: (topic, process) => {
        this.#world.runCheck(() => {
          this.#inventory.onCreated(topic, process);
        });
      },
    });
  }

  #onDelivered({ process, partition: { topic, partition, log }, read: { records } }: Delivery): void {
    if (topic !== eventsTopic) return;
    this.#world.trace(
      () =>
        `${process.name} is sent ${records.map(({ offset }) => offset).join(" ")} of partition ${partition}`,
    );
    this.#oracle.onDelivered(process, log, records);
  }

  #onDecided(transaction: DecidedTransaction): void {
    const { commit, process, records, offsets } = transaction;
    this.#world.trace(
      () =>
        `${commit ? "commit" : "abort"} of ${process.name}: ${records.length} records, ${JSON.stringify([...offsets].map(([key, { offset }]) => [key, offset]))}`,
    );
    this.#world.runCheck(() => {
      this.#oracle.onDecided(transaction);
    });
  }

  async #start(process: Process<Service>): Promise<void> {
    const { clock, log, openDatabase } = this.#world;
    const { host } = process;
    const { signal: abort } = new AbortController();
    const broker = this.#kafka.createBroker({ ...readConfig({}).kafka, groupId });
    const createHandler = this.#createHandlers(host, broker);
    const database = openDatabase(host);
    const consumer = createGroupConsumer({
      member: broker.createMember({ topic: eventsTopic, groupId, commitsOffsets: false }),
      watch: broker.watch(eventsTopic),
      logs: createLogStore(database),
      consumer: "events",
      createHandler,
      log,
      onDied: clock.fail,
    });
    process.service = { broker, consumer };
    await database.connect(abort);
    await broker.reach(abort);
    await retryUntilAvailable(() => consumer.start(), { what: "Kafka", abort, log });
  }

  /** Returns what creates the handlers of a process. */
  #createHandlers(
    host: Host,
    broker: Broker,
  ): (partition: Partition) => ReturnType<typeof createEventHandler> {
    const { log, note, runCheck } = this.#world;
    const [unmatchedTopic, maxCopies, newEgress] = [this.#unmatchedTopic, this.#maxCopies, this.#newEgress];
    const ownTopics = [
      eventsTopic,
      deadLetterTopic,
      ...(unmatchedTopic === undefined ? [] : [unmatchedTopic]),
    ];
    const naming = createEgressNaming(templates[this.#namedBy], new Set(ownTopics));
    const feed = this.#topics.createFeed(host);
    const index = this.#topics.guard(host, new LiveTopicIndex(feed, log));
    const directory = broker.createEgressTopics(newEgress && { ...newEgress, replication: undefined }, {
      maxTopics: this.#maxCreated,
      onCreated: (names) => {
        this.#inventory.onConfirmed(host, names);
      },
    });
    const egressTopics = this.#inventory.watch(host, directory);
    return (partition) => ({
      ...createEventHandler({
        ...{ partition, groupId, index, naming, egressTopics, deadLetterTopic, unmatchedTopic, maxCopies },
        transactions: broker.createTransactions({ partition, groupId }),
        maxEventBytes: 1024 * 1024,
        getProofKey: () => Promise.resolve(Buffer.alloc(32)),
        choosePartition,
        routed: (batch) => {
          note(`${host.name} ${batch.events.length} ${batch.forwarded}`);
          runCheck(() => {
            this.#oracle.onReported(host, batch);
          });
        },
        tracing: undefined,
      }),
      maxRecordsPerWrite: this.#maxRecordsPerWrite,
    });
  }

  #letLag(broker: number, ms: number): void {
    this.#maxLagMs = Math.max(this.#maxLagMs, ms);
    this.#kafka.cluster.lag(broker, ms);
  }

  #act(action: RouterAction): void {
    if (disturbsStore(action)) {
      if (this.#topics.isCalm) return;
      const ms = ("ms" in action ? action.ms : 0) + ("answerMs" in action ? action.answerMs : 0);
      this.#topics.noteDisturbance(this.#world.clock.getTime() + ms);
    }
    switch (action.do) {
      case "produce events":
      case "end transaction":
      case "truncate":
      case "set offset":
      case "reset offset":
      case "move events leader":
      case "lose events leader":
      case "grow events":
      case "cut events":
      case "recreate events":
      case "move house":
      case "expire offsets":
      case "old bounds":
        this.#events.act(action);
        break;
      case "change topic":
        this.#topics.change(action.id, action.variant);
        break;
      case "rename topic":
        this.#topics.rename(action);
        break;
      case "race topic":
        this.#topics.race(action);
        break;
      case "disturb streams":
        if (action.how === "delayed") this.#world.server.delayStreams(action.ms);
        else this.#world.server.failStreams(action.ms, action.how === "lost" ? historyLost : unauthorized);
        this.#topics.slowDownLoads(action.slowRequests);
        break;
      case "disturb store":
        for (let request = 0; request < action.count; request += 1)
          this.#world.injectFault({ ...action, do: "disturb", server: "store" });
        break;
      case "grow egress topic":
        if (action.unnoticedMs !== undefined && action.unnoticedMs > 0)
          this.#letLag(action.broker ?? 0, action.unnoticedMs);
        this.#inventory.act(action);
        if (action.rebalances === true) this.#kafka.cluster.groups.get(groupId).rebalance();
        break;
      case "create egress topic":
      case "delete egress topic":
      case "revoke right":
      case "grant right":
      case "move egress leader":
      case "lose egress leader":
        this.#inventory.act(action);
        break;
      case "refuse topics":
        this.#kafka.cluster.refuseTopics(action.ms);
        break;
      case "grow dead letters":
        this.#kafka.cluster.registry.grow(deadLetterTopic, 3);
        break;
      default:
        if (action.do === "broker lags") this.#letLag(action.broker, action.ms);
        else this.#kafka.act(action);
    }
  }

  /** Lets everything be forwarded, while one fault may last, and connections be closed. */
  async #recover(): Promise<void> {
    const { clock, trace } = this.#world;
    // A removal may take 15 s, and the next poll as long.
    await clock.runUntil(clock.getTime() + (this.#topics.isCalm ? 0 : settleMs) + 30_000);
    await recover({
      ...{ clock, trace, cluster: this.#kafka.cluster, events: this.#events, inventory: this.#inventory },
      ...{ topics: this.#topics, unmatchedTopic: this.#unmatchedTopic, lasting: this.#lasting },
      random: this.#limits,
    });
    await waitForConnections(clock, () =>
      [0, 1].map((index) => {
        const { host, service } = this.#world.getProcess(index);
        const partitions = service?.consumer.status().partitions.length ?? 0;
        return { name: host.name, clients: this.#kafka.sockets.countClients(host), partitions };
      }),
    );
  }
}
