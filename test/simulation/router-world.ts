/**
 * A world for the router: processes that run the product's reader, handler, index of topics, Kafka client and
 * transactions unchanged, with kafkajs itself, over simulated connections to a simulated Kafka cluster and a
 * simulated store of topics.
 */
import { createEventHandler } from "../../consumers/events/handler.ts";
import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { readConfig } from "../../src/config.ts";
import { createBroker, type Broker } from "../../src/kafka/client.ts";
import { choosePartition } from "../../src/kafka/partitioner.ts";
import { retryUntilAvailable } from "../../src/lib/retry.ts";
import { LiveTopicIndex } from "../../src/matching/live-topic-index.ts";
import { createEgressNaming } from "../../src/routing/egress.ts";
import { createLogStore } from "../../src/storage/logs.ts";
import { actOnCluster } from "./cluster-actions.ts";
import { createCluster } from "./cluster/cluster.ts";
import type { Delivery } from "./cluster/fetches.ts";
import type { DecidedTransaction } from "./cluster/transactions.ts";
import { createEgressInventory, templates, type NamedBy } from "./router-egress.ts";
import { createEventsTopic } from "./router-events.ts";
import { createRouterOracle } from "./router-oracle.ts";
import { RouterPositions } from "./router-positions.ts";
import { recover, routerLastingFaults, type RouterLastingFault } from "./router-recovery.ts";
import type { RouterAction } from "./router-steps.ts";
import { createRouterTopics, settleMs } from "./router-topics.ts";
import { createRandom } from "./random.ts";
import { createSocketNetwork } from "./sockets.ts";
import type { Step } from "./steps.ts";
import { withSimulatedTimers } from "./timers.ts";
import { Violation } from "./violation.ts";
import { createWorld, startOfTime, type OnTrace, type Process, type WorldResult } from "./world.ts";

interface Service {
  readonly broker: Broker;
  readonly consumer: GroupConsumer;
}

/** The member of the group, the admin and the look-up of offsets. */
const clientsPerProcess = 3;
const groupId = "router";
const eventsTopic = "events";
const deadLetterTopic = "dead-letters";
const topicCount = 4;
/** The first version of Fetch that names logs by topic id. */
const fetchById = 13;
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
): Promise<WorldResult> => withSimulatedTimers(seed, () => run(seed, steps, onTrace));

async function run(
  seed: number,
  steps: readonly Step<RouterAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> {
  const world = createWorld<Service>({
    seed,
    onTrace,
    start,
    async stop({ broker, consumer }) {
      await consumer.stop();
      await broker.close();
    },
    onGone: (host) => {
      sockets.forget(host);
    },
    mayLogError: (message) => positions.hasCuts && message.startsWith("kafka lost records"),
  });
  const { clock, random, server, log, openDatabase, trace, note, runCheck } = world;
  const unmatchedTopic = random.pick([undefined, "unmatched"]);
  const namedBy = random.pick<NamedBy>(["nothing", "external id", "namespace"]);
  const hasOddTimestamps = random.chance(0.5);
  // Chance of its own, so that a further limit does not change which faults follow.
  const limits = createRandom(seed + 3);
  const maxCopies = limits.pick([10_000, 10_000, 2]);
  const maxRecordsPerWrite = limits.pick([4_000, 4_000, 2]);
  const lasting = limits.pick<RouterLastingFault>(routerLastingFaults);
  const newEgress = limits.pick([undefined, { partitions: limits.pick([undefined, 2]) }]);
  const sockets = createSocketNetwork({ clock, random });
  const maxBatchesPerFetch = random.pick([1, 3, 20]);
  const maxFetchVersion = random.pick([17, 17, fetchById, 11]);
  const cluster = createCluster({
    ...{ clock, random, trace, onDelivered, onDecided },
    network: sockets,
    now: () => startOfTime + Math.floor(clock.getTime()),
    brokers: 2,
    maxBatchesPerFetch,
    maxFetchVersion,
    onCreated: (topic) => {
      inventory.onCreated(topic);
    },
  });
  const hasTopicIds = maxFetchVersion >= fetchById;
  const positions = new RouterPositions({ hasTopicIds });
  const events = createEventsTopic({
    ...{ clock, cluster, groupId, hasOddTimestamps, hasTopicIds, positions },
    host: world.brokerHost,
    name: eventsTopic,
  });
  events.create(random.pick([1, 2]));
  cluster.registry.create({ name: deadLetterTopic, partitions: random.pick([1, 2]) });
  const topics = createRouterTopics(
    { clock, random, network: world.network, server, log, openDatabase },
    topicCount,
  );
  const inventory = createEgressInventory({
    ...{ clock, random, cluster, topics, namedBy, unmatchedTopic },
    isCreating: newEgress !== undefined,
    getMaxLagMs: () => maxLagMs + maxPublishMs,
  });
  let maxLagMs = 0;
  const oracle = createRouterOracle({
    topic: eventsTopic,
    positions,
    getTime: clock.getTime,
    topics,
    deadLetterTopic,
    unmatchedTopic,
    maxCopies,
    getEgressName: inventory.getName,
    findOutcomes: inventory.findOutcomes,
    listCounts: (name, since, until) => inventory.listCounts(name, since, until),
  });

  function onDelivered({ process, partition: { topic, partition, log: ofTopic }, read }: Delivery): void {
    const { records } = read;
    if (topic !== eventsTopic) return;
    trace(
      () =>
        `${process.name} is sent ${records.map(({ offset }) => offset).join(" ")} of partition ${partition}`,
    );
    oracle.onDelivered(process, ofTopic, records);
  }

  function onDecided(transaction: DecidedTransaction): void {
    const { commit, process, records, offsets } = transaction;
    trace(
      () =>
        `${commit ? "commit" : "abort"} of ${process.name}: ${records.length} records, ${JSON.stringify([...offsets].map(([key, { offset }]) => [key, offset]))}`,
    );
    runCheck(() => {
      oracle.onDecided(transaction);
    });
  }

  async function start(process: Process<Service>): Promise<void> {
    const { host } = process;
    const { signal: abort } = new AbortController();
    const { kafka } = readConfig({});
    const broker = createBroker(
      { ...kafka, brokers: cluster.addresses, groupId },
      log,
      sockets.createSockets(),
    );
    const naming = createEgressNaming(
      templates[namedBy],
      new Set([eventsTopic, deadLetterTopic, ...(unmatchedTopic === undefined ? [] : [unmatchedTopic])]),
    );
    const index = topics.guard(
      host,
      new LiveTopicIndex(topics.createFeed(host), log, { keepsNamespaces: naming.usesNamespace }),
    );
    const egressTopics = broker.createEgressTopics(newEgress && { ...newEgress, replication: undefined });
    const database = openDatabase(host);
    const consumer = createGroupConsumer({
      member: broker.createMember({ topic: eventsTopic, groupId, commitsOffsets: false }),
      watch: broker.watch(eventsTopic),
      logs: createLogStore(database),
      createHandler: (partition) => ({
        ...createEventHandler({
          partition,
          groupId,
          index,
          naming,
          transactions: broker.createTransactions({ partition, groupId }),
          egressTopics,
          deadLetterTopic,
          maxEventBytes: 1024 * 1024,
          unmatchedTopic,
          maxCopies,
          getProofKey: () => Promise.resolve(Buffer.alloc(32)),
          choosePartition,
          routed(batch) {
            note(`${host.name} ${batch.events.length} ${batch.forwarded}`);
            runCheck(() => {
              oracle.onReported(host, batch);
            });
          },
          tracing: undefined,
        }),
        maxRecordsPerWrite,
      }),
      log,
      onDied: clock.fail,
    });
    process.service = { broker, consumer };
    await database.connect(abort);
    await broker.reach(abort);
    await retryUntilAvailable(() => consumer.start(), { what: "Kafka", abort, log });
  }

  function letLag(broker: number, ms: number): void {
    maxLagMs = Math.max(maxLagMs, ms);
    cluster.lag(broker, ms);
  }

  function act(action: RouterAction): void {
    if (disturbsStore(action)) {
      if (topics.isCalm) return;
      topics.noteDisturbance(
        clock.getTime() + ("ms" in action ? action.ms : 0) + ("answerMs" in action ? action.answerMs : 0),
      );
    }
    switch (action.do) {
      case "produce events":
      case "end transaction":
      case "truncate":
      case "set offset":
      case "reset offset":
      case "move events leader":
      case "grow events":
      case "cut events":
      case "recreate events":
      case "expire offsets":
      case "old bounds":
        events.act(action);
        break;
      case "change topic":
        topics.change(action.id, action.variant);
        break;
      case "race topic":
        topics.race(action);
        break;
      case "disturb streams":
        if (action.how === "delayed") server.delayStreams(action.ms);
        else server.failStreams(action.ms, action.how === "lost" ? historyLost : unauthorized);
        topics.slowDownLoads(action.slowRequests);
        break;
      case "disturb store":
        for (let request = 0; request < action.count; request += 1)
          world.injectFault({ ...action, do: "disturb", server: "store" });
        break;
      case "create egress topic":
        inventory.create(action.number);
        break;
      case "delete egress topic":
        inventory.delete(action.number);
        break;
      case "grow egress topic":
        if (action.unnoticedMs !== undefined && action.unnoticedMs > 0)
          letLag(action.broker ?? 0, action.unnoticedMs);
        inventory.grow(action.number);
        if (action.rebalances === true) cluster.groups.get(groupId).rebalance();
        break;
      case "revoke right":
      case "grant right":
        inventory.setRight(action.number, action.do === "grant right");
        break;
      case "move egress leader":
        inventory.moveLeader(action.number, action.partition, action.to);
        break;
      case "refuse topics":
        cluster.refuseTopics(action.ms);
        break;
      case "grow dead letters":
        cluster.registry.grow(deadLetterTopic, 3);
        break;
      default:
        if (action.do === "broker lags") letLag(action.broker, action.ms);
        else actOnCluster(action, { world, cluster, sockets, groupId });
    }
  }

  for (let id = 0; id < topicCount; id += 1) topics.change(id, random.between(0, 12));
  // Most of those that are missing are needed by the first events.
  if (newEgress !== undefined && limits.chance(0.5)) cluster.refuseTopics(limits.between(4_000, 20_000));
  await world.perform(steps, act);
  world.heal();
  sockets.heal();
  inventory.grantAll();
  cluster.refuseTopics(0);
  events.create(1);
  // A removal may take 15 s, and the next poll as long.
  await clock.runUntil(clock.getTime() + (topics.isCalm ? 0 : settleMs) + 30_000);
  await recover({
    ...{ clock, cluster, events, inventory, topics, unmatchedTopic, lasting, trace },
    random: limits,
  });
  await clock.runUntil(clock.getTime() + 60_000, () => listLeaks().length === 0);
  if (listLeaks().length > 0) throw new Violation(listLeaks().join(", "));
  oracle.checkFinal(inventory.listLogs());
  topics.checkLast();
  note(oracle.describe());
  const result = world.getResult(oracle.countChecks());
  return { ...result, faults: result.faults + sockets.countDisturbed() };

  /** A process has some clients, and one producer for each partition that it reads. */
  function listLeaks(): string[] {
    return [0, 1].flatMap((index) => {
      const { host, service } = world.getProcess(index);
      const owned = service?.consumer.status().partitions.length ?? 0;
      const open = sockets.countClients(host);
      return open > clientsPerProcess + owned
        ? [`${host.name} has ${open} clients that are connected, for ${owned} partitions`]
        : [];
    });
  }
}

/** Whether an action can delay what a process knows of the topics. */
const disturbsStore = (action: RouterAction): boolean =>
  ["elect", "stall replication", "freeze", "race topic", "disturb store", "disturb streams"].includes(
    action.do,
  ) ||
  ("server" in action && action.server === "store");
