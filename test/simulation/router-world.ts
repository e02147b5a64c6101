/**
 * A world for the router: processes that run the product's reader, handler, index of topics and transactions unchanged, with
 * kafkajs' own producer, over a simulated events topic, transaction coordinator, brokers, topic store and network.
 */
import type { Admin } from "kafkajs";

import { createEventHandler } from "../../consumers/events/handler.ts";
import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { createEgressTopics } from "../../src/kafka/admin/egress-topics.ts";
import { choosePartition } from "../../src/kafka/partitioner.ts";
import { createRoutingTransactions } from "../../src/kafka/transactions.ts";
import { createLiveTopicIndex } from "../../src/matching/live-topic-index.ts";
import { createEgressNaming } from "../../src/routing/egress.ts";
import { toKafkaError } from "../../src/kafka/errors.ts";
import type { KafkaRequests } from "../../src/kafka/requests.ts";
import { createDatabaseOf } from "../../src/storage/database.ts";
import { createLogStore } from "../../src/storage/logs.ts";
import { createHost, type Host } from "./clock.ts";
import { createKafkaBroker } from "./kafka/broker.ts";
import { createKafkaClient } from "./kafka/client.ts";
import { createCoordinator, type DecidedTransaction } from "./kafka/coordinator.ts";
import { createProducerClient } from "./kafka/producer-client.ts";
import { createMongoClient } from "./mongo/client.ts";
import { createEgressInventory } from "./router-egress.ts";
import { createRouterOracle } from "./router-oracle.ts";
import { createRouterTopics } from "./router-topics.ts";
import type { RouterAction, SentEvent, Step } from "./steps.ts";
import { withSimulatedTimers } from "./timers.ts";
import { Violation } from "./violation.ts";
import { createWorld, startOfTime, type OnTrace, type Process, type WorldResult } from "./world.ts";

interface Service {
  readonly consumer: GroupConsumer;
}

/** Once faults stop, the router must have caught up within this time: the lifetime of a transaction, and some retries. */
const recoveryMs = 180_000;
const groupId = "router";
const eventsTopic = "events";
const deadLetterTopic = "dead-letters";
const topicCount = 4;

/** Runs steps in a world that the seed determines. Throws a Violation. */
export const runRouterWorld = (
  seed: number,
  steps: readonly Step<RouterAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> => withSimulatedTimers(() => run(seed, steps, onTrace));

async function run(
  seed: number,
  steps: readonly Step<RouterAction>[],
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
  const { clock, random, network, server, storeHost, brokerHost, log, trace, note, judge } = world;
  const partitions = random.pick([1, 2]);
  const maxOffsetsPerFetch = random.pick([1, 3, 10, 50]);
  const unmatchedTopic = random.pick([undefined, "unmatched"]);
  const broker = createKafkaBroker(
    { clock, random, host: brokerHost },
    { partitions, maxOffsetsPerFetch, topic: eventsTopic },
  );
  const leaders = [createHost("leader 0"), createHost("leader 1")] as const;
  const coordinator = createCoordinator({ clock, random, host: leaders[0], onDecided });
  const topics = createRouterTopics({ clock, random, network, host: storeHost }, topicCount);
  const naming = createEgressNaming(
    random.pick(["egress", "egress.{externalId}", "egress.{namespace}"]),
    new Set([eventsTopic, deadLetterTopic]),
  );
  const inventory = createEgressInventory({ clock, random, coordinator, naming, topics, unmatchedTopic });
  coordinator.createTopic(deadLetterTopic, random.pick([1, 2]), Infinity);
  const oracle = createRouterOracle({
    topic: eventsTopic,
    getLog: (partition) => broker.getLog(partition),
    getTime: clock.getTime,
    topics,
    deadLetterTopic,
    unmatchedTopic,
    getEgressName: inventory.getName,
    findOutcomes: inventory.findOutcomes,
  });
  /** How many producers of each process are connected. */
  const connected = new Map<Host, number>();
  let lastTimestamp = startOfTime;

  function onDecided(transaction: DecidedTransaction): void {
    const { commit, process, records, offsets } = transaction;
    trace(
      () =>
        `${commit ? "commit" : "abort"} of ${process.name}: ${records.length} records, ${JSON.stringify([...offsets].map(([key, { offset }]) => [key, offset]))}`,
    );
    judge(() => {
      oracle.onDecided(transaction);
    });
  }

  async function start(process: Process<Service>): Promise<void> {
    const { host } = process;
    const { createClient, requests } = createProducerClient({
      network,
      random,
      coordinator,
      leaders,
      process: host,
      onConnected(change) {
        connected.set(host, (connected.get(host) ?? 0) + change);
      },
    });
    const egressMetadata = {
      fetchMetadata: () =>
        network
          .call(leaders[0], () => {
            coordinator.requireUp();
            const topics = [...coordinator.topics.values()];
            return { topics: topics.map(({ name, logs }) => ({ error: 0, name, partitions: logs })) };
          })
          .catch((error: unknown) => {
            throw toKafkaError(error);
          }),
    } as unknown as KafkaRequests;
    const egressTopics = createEgressTopics({
      admin: {} as Admin,
      requests: egressMetadata,
      create: undefined,
      log,
    });
    const database = createDatabaseOf(createMongoClient({ clock, network, server, host }), log);
    await database.connect(new AbortController().signal);
    const index = createLiveTopicIndex(topics.createFeed(host), log, {
      keepsNamespaces: naming.usesNamespace,
    });
    const kafka = createKafkaClient({
      clock,
      network,
      broker,
      host,
      onDelivered({ partition, records }) {
        trace(() => `fetches ${records.map(({ offset }) => offset).join(" ")} of partition ${partition}`);
        oracle.onDelivered(host, partition, records);
      },
      onSending: () => undefined,
    });
    const consumer = createGroupConsumer({
      member: kafka.createMember(),
      watch: kafka.watch,
      logs: createLogStore(database),
      createHandler: (partition) =>
        createEventHandler({
          partition,
          groupId,
          index,
          naming,
          transactions: createRoutingTransactions({ partition, groupId, createClient, requests, log }),
          egressTopics,
          deadLetterTopic,
          maxEventBytes: 1024 * 1024,
          unmatchedTopic,
          maxCopies: 10_000,
          getProofKey: () => Promise.resolve(Buffer.alloc(32)),
          choosePartition,
          routed(batch) {
            note(`${host.name} ${batch.events.length} ${batch.forwarded}`);
            judge(() => {
              oracle.onReported(host, batch);
            });
          },
          tracing: undefined,
        }),
      log,
      onDied: clock.fail,
    });
    process.service = { consumer };
    await consumer.start();
  }

  function produce(
    partition: number,
    events: readonly SentEvent[],
    transaction?: "commit" | "abort" | "leave open",
  ): void {
    broker.getLog(partition).append(
      events.map((event) => {
        lastTimestamp = Math.max(lastTimestamp + 1, startOfTime + Math.floor(clock.getTime()));
        return { timestamp: lastTimestamp, ...toRecord(event) };
      }),
      transaction,
    );
    broker.notify();
  }

  function act(action: RouterAction): void {
    switch (action.do) {
      case "produce events":
        produce(
          action.partition % partitions,
          action.events,
          action.transaction === "none" ? undefined : action.transaction,
        );
        break;
      case "end transaction":
        broker.getLog(action.partition % partitions).endTransaction((lastTimestamp += 1), action.commit);
        broker.notify();
        break;
      case "truncate": {
        const { getLow, getEnd, truncate } = broker.getLog(action.partition % partitions);
        truncate(Math.floor(getLow() + (getEnd() - getLow()) * action.share));
        break;
      }
      case "change topic":
        topics.change(action.id, action.variant);
        break;
      case "create egress topic":
        inventory.create(action.number);
        break;
      case "delete egress topic":
        inventory.delete(action.number);
        break;
      case "lose feeds":
        topics.loseFeeds(world.getProcess(action.process).host);
        break;
      case "rebalance":
        broker.rebalance();
        break;
      case "disturb transactions":
        network.disturb(world.getProcess(action.process).host, leaders[action.leader], action.fault);
        break;
      case "cut transactions":
        network.cut(world.getProcess(action.process).host, leaders[action.leader], action.ms);
        break;
      case "broker down":
        broker.goDown(action.ms);
        coordinator.goDown(action.ms);
        break;
      case "coordinator unavailable":
        coordinator.beUnavailable(action.ms);
        break;
      case "delay markers":
        coordinator.delayMarkers(action.ms);
        break;
      case "freeze":
        topics.noteFreeze(world.getProcess(action.process).host, clock.getTime() + action.ms);
        world.inflict(action);
        break;
      default:
        world.inflict(action);
    }
  }

  const isBehind = (partition: number): boolean =>
    oracle.getPosition(partition) !== broker.getLog(partition).getEnd();

  for (let id = 0; id < topicCount; id += 1) topics.change(id, random.between(0, 12));
  await world.perform(steps, act);
  world.heal();
  for (const partition of broker.getPartitions()) {
    broker.getLog(partition).endTransaction((lastTimestamp += 1), true);
    produce(partition, [{ kind: "event", key: undefined, eventType: "A", level: 1, isLarge: false }]);
  }
  const isDone = (): boolean =>
    !broker.getPartitions().some(isBehind) && !inventory.listLogs().some((one) => one.hasOpenTransaction());
  await clock.runUntil(clock.getTime() + recoveryMs, isDone);
  if (!isDone()) {
    const places = broker
      .getPartitions()
      .map(
        (partition) =>
          `partition ${partition} is at ${oracle.getPosition(partition)} of ${broker.getLog(partition).getEnd()}`,
      );
    throw new Violation(
      `the router has not caught up ${recoveryMs / 1_000} s after the last fault: ${places.join(", ")}`,
    );
  }
  // A reader that was closed while it claimed ends its claim first.
  await clock.runUntil(clock.getTime() + 60_000, () => listLeaks().length === 0);
  if (listLeaks().length > 0) throw new Violation(listLeaks().join(", "));
  oracle.checkFinal(inventory.listLogs().map((one) => ({ records: one.readCommitted() })));
  note(oracle.describe());
  return world.getResult(oracle.countChecks());

  /** Each partition that a process reads has one producer. */
  function listLeaks(): string[] {
    return [0, 1].flatMap((index) => {
      const { host, service } = world.getProcess(index);
      const owned = service?.consumer.status().partitions.length ?? 0;
      const open = connected.get(host) ?? 0;
      return open > owned ? [`${host.name} has ${open} producers for ${owned} partitions`] : [];
    });
  }
}

function toRecord({ kind, key, eventType, level, isLarge }: SentEvent) {
  const padding = isLarge ? "x".repeat(1_500) : "";
  const event = {
    eventId: "1",
    "@type": "Event",
    eventType: kind === "no event" ? 1 : eventType,
    event: { level: String(level), padding },
  };
  return {
    key: key === undefined ? null : `key ${key}`,
    value: kind === "no JSON" ? "no JSON" : JSON.stringify(event),
  };
}
