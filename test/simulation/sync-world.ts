/**
 * A world for the sync: processes that run the product's reader, service, storage and Kafka client unchanged,
 * with kafkajs itself, over simulated connections to a simulated Kafka cluster and a simulated store.
 */
import { ConfigurationError } from "@topicsync/lib/errors";
import { readConfig } from "../../src/config/config.ts";
import { collections } from "../../src/storage/names.ts";
import {
  createHost,
  createRandom,
  withSimulatedTimers,
  type Delivery,
  type Host,
  type Partition,
  type Random,
} from "../simulated-servers/index.ts";
import { KafkaWorld } from "./kafka-world.ts";
import { injectLastingFault, lastingFaults, recoveryMs, type LastingFault } from "./lasting-faults.ts";
import type { Step } from "./steps.ts";
import { Administration } from "./sync-administration.ts";
import { applyChanges } from "./sync-applies.ts";
import { operate } from "./sync-operations.ts";
import { formatChanges } from "./sync-changes.ts";
import type { Counts } from "./sync-explanation.ts";
import { electAtRead } from "./sync-elections.ts";
import { SyncOracle } from "./sync-oracle.ts";
import { findLag } from "./sync-recovery.ts";
import { announcementsTopic, deadLetterTopic, groupId, startService, type Service } from "./sync-service.ts";
import type { Right, SyncAction } from "./sync-steps.ts";
import { createOtherTopics, topicOfOthers } from "./sync-other-topics.ts";
import { SyncTopic } from "./sync-topic.ts";
import { Violation } from "./violation.ts";
import { World, type OnTrace, type Process, type WorldResult } from "./world.ts";

const denialMs = 40_000;
const quietMs = 20_000;

/** Runs steps in a world that the seed determines. Throws a Violation. */
export const runSyncWorld = (
  seed: number,
  steps: readonly Step<SyncAction>[],
  onTrace?: OnTrace,
): Promise<WorldResult> => withSimulatedTimers(seed, () => new SyncWorld(seed, onTrace).run(steps));

class SyncWorld {
  readonly #world: World<Service>;
  readonly #kafka: KafkaWorld<Service>;
  readonly #topic: SyncTopic;
  readonly #administration: Administration;
  readonly #oracle: SyncOracle;
  readonly #limits: Random;
  readonly #endings: Random;
  readonly #maxRecordsPerWrite: number;
  readonly #lasting: LastingFault;
  readonly #hasOldPositions: boolean;
  /** What is denied in the end. */
  readonly #right: Right | "none";
  #denialsTold = 0;
  #applies = 0;

  constructor(seed: number, onTrace: OnTrace | undefined) {
    this.#world = this.#createWorld(seed, onTrace);
    const { clock, random, server, brokerHost: host } = this.#world;
    const maxPartitions = random.pick([1, 2, 3]);
    // Chance of its own, so that a further limit does not change which faults follow.
    const limits = createRandom(seed + 3);
    this.#limits = limits;
    this.#endings = createRandom(seed + 4);
    this.#maxRecordsPerWrite = limits.pick([4_000, 4_000, 2]);
    this.#lasting = limits.pick<LastingFault>(lastingFaults);
    const maxFetchVersion = limits.pick([17, 17, 13, 11]);
    const brokers = createRandom(seed + 5).pick([2, 2, 2, 3]);
    this.#kafka = new KafkaWorld({
      ...{ world: this.#world, groupId },
      chooseLimits: () => ({ brokers, maxBatchesPerFetch: random.pick([1, 3, 20]), maxFetchVersion }),
      onDelivered: (delivery) => {
        this.#onDelivered(delivery);
      },
      onProduced: (process, partition, baseOffset) => {
        this.#onProduced(process, partition, baseOffset);
      },
    });
    const { cluster, hasTopicIds } = this.#kafka;
    const hasOldPositions = limits.chance(0.15);
    this.#hasOldPositions = hasOldPositions;
    this.#topic = new SyncTopic({
      ...{ clock, cluster, host, name: announcementsTopic, maxPartitions, hasTopicIds, hasOldPositions },
      isMissing: !hasOldPositions && limits.chance(0.2),
      partitions: random.between(1, maxPartitions + 1),
      hasOddTimestamps: random.chance(0.5),
    });
    createOtherTopics(cluster.registry, random.pick([1, 2]), limits);
    this.#right = limits.pick(["none", "none", "none", "none", "fetch", "read", "group"]);
    const operator = createHost("operator");
    this.#administration = new Administration({
      ...{ clock, cluster, topic: this.#topic, topicName: announcementsTopic, groupId, deadLetterTopic },
      ...{ operator, database: this.#world.openDatabase(operator), log: this.#world.log },
      createBroker: () => this.#kafka.createBroker({ ...readConfig({}).kafka, groupId }),
    });
    this.#oracle = new SyncOracle({
      ...{ clock, operator, hasTopicIds },
      getCurrentLog: (partition) => this.#topic.getLog(partition),
      isCut: (log) => this.#topic.isCut(log),
      wasCut: (partition, topicId) => this.#topic.wasCut(partition, topicId),
      needsDecision: (from, to, partition) => this.#topic.needsDecision(from, to, partition),
      readAll: (collection) => server.readAll(collection),
    });
    if (this.#isChecked) this.#observeStore();
  }

  /** Without transactions a batch may be stored in part. */
  get #isChecked(): boolean {
    return this.#world.server.options.isReplicaSet;
  }

  async run(steps: readonly Step<SyncAction>[]): Promise<WorldResult> {
    const { clock, server, note } = this.#world;
    if (this.#hasOldPositions) this.#administration.insertOldPositions(this.#limits);
    await this.#world.perform(steps, (action) => {
      this.#act(action);
    });
    this.#kafka.heal();
    server.electAfterReads(undefined);
    this.#kafka.cluster.denied.clear();
    this.#topic.create();
    await clock.runUntil(clock.getTime() + quietMs, () => this.#administration.hasEnded());
    await this.#recover();
    const stored = server.readAll(collections.topics);
    if (this.#isChecked) this.#oracle.compare(stored);
    note(
      stored
        .map((record) => JSON.stringify([record["topic_id"], record["source"]]))
        .toSorted()
        .join(),
    );
    await this.#denyRight();
    return this.#kafka.getResult(this.#oracle.countChecks());
  }

  #createWorld(seed: number, onTrace: OnTrace | undefined): World<Service> {
    return new World<Service>({
      seed,
      onTrace,
      start: (process) => this.#start(process),
      async stop({ consumer, deadLetters, broker }) {
        await consumer.stop();
        await deadLetters.close();
        await broker.close();
      },
      onGone: (host) => {
        this.#kafka.sockets.forget(host);
      },
      mayLogError: (message) =>
        (this.#topic.hasCuts() && message.startsWith("kafka lost records")) ||
        (this.#topic.hasMoved() && message.startsWith("partition paused: its position belongs to another")) ||
        (this.#administration.wasDenied() &&
          (message.includes("an unexpected error") || message.startsWith("consumer paused"))),
      onLogged: ({ reason = "" }) => {
        if (reason.startsWith("Kafka denies")) this.#denialsTold += 1;
      },
    });
  }

  #observeStore(): void {
    const { server, trace, runCheck } = this.#world;
    server.observe({
      onCommit: (commit) => {
        trace(() => `commit ${commit.number} of ${commit.client.name}: ${formatChanges(commit.changes)}`);
        runCheck(() => {
          this.#oracle.onCommit(commit);
        });
      },
      onRead: (read) => {
        this.#oracle.letters.onRead(read);
      },
      onRollback: (lastKept) => {
        trace(() => `every commit after ${lastKept} is lost`);
        this.#oracle.onRollback(lastKept);
      },
    });
  }

  #onDelivered({ process, partition: { topic, partition, log }, from, read }: Delivery): void {
    if (topic !== announcementsTopic) return;
    this.#world.trace(
      () =>
        `${process.name} is sent ${read.records.map(({ offset }) => offset).join(" ")} of partition ${partition}, log ${log.id}`,
    );
    this.#oracle.onDelivered(process, partition, { ...this.#topic.identify(log), from, ...read });
  }

  #onProduced(process: Host, { topic, log }: Partition, baseOffset: number): void {
    if (topic !== deadLetterTopic || !this.#isChecked) return;
    const stored = log.readAll().filter(({ offset }) => offset >= baseOffset);
    this.#world.trace(() => `${stored.length} dead letters of ${process.name} are stored`);
    this.#world.runCheck(() => {
      for (const letter of stored) this.#oracle.letters.onStored(process, letter);
    });
  }

  /** A process ends when Kafka denies its user a right, and is started again by a supervisor. */
  #endProcess(process: Process<Service>, error: unknown): void {
    if (!this.#administration.wasDenied() || !(error instanceof ConfigurationError)) {
      this.#world.clock.fail(error);
      return;
    }
    this.#denialsTold += 1;
    const index = [0, 1].find((one) => this.#world.getProcess(one) === process);
    if (index !== undefined)
      this.#world.injectFault({ do: "kill", process: index, restartMs: 1_000, noticedMs: 100 });
  }

  async #start(process: Process<Service>): Promise<void> {
    const end = (error: unknown): void => {
      this.#endProcess(process, error);
    };
    await startService(process, {
      world: this.#world,
      kafka: this.#kafka,
      maxRecordsPerWrite: this.#maxRecordsPerWrite,
      onSending: (host, records) => {
        if (this.#isChecked)
          this.#world.runCheck(() => {
            this.#oracle.letters.onSending(host, records);
          });
      },
      onReported: (host, partition, counts) => {
        this.#onReported(host, partition, counts);
      },
      onDied: end,
    }).catch(end);
  }

  #onReported(host: Host, partition: number, counts: Counts): void {
    this.#world.note(`${host.name} ${JSON.stringify(counts)}`);
    if (this.#isChecked)
      this.#world.runCheck(() => {
        this.#oracle.onReported(host, partition, counts);
      });
  }

  #act(action: SyncAction): void {
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
      case "move house":
      case "old bounds":
        this.#topic.act(action);
        break;
      case "create":
      case "disable":
      case "enable":
      case "change":
      case "restore":
      case "exchange":
        operate(action, this.#world, this.#oracle);
        break;
      case "apply":
        this.#applies += 1;
        applyChanges(action, `plan ${this.#applies}`, this.#world, this.#oracle);
        break;
      case "set position":
      case "lose position":
      case "set offset":
      case "expire offsets":
      case "refuse topics":
      case "revoke right":
      case "grant right":
        this.#administration.act(action);
        break;
      case "elect at look-up":
      case "elect at unreplicated epoch":
        electAtRead(action, this.#world);
        break;
      default:
        this.#kafka.act(action);
    }
  }

  /** Lets everything be read to its end, while one fault may last. */
  async #recover(): Promise<void> {
    const { clock, random, trace } = this.#world;
    const { cluster } = this.#kafka;
    // Some runs end with records for a reader that waits for them.
    if (this.#limits.chance(0.3)) await clock.runUntil(clock.getTime() + quietMs);
    trace(() => `what lasts: ${this.#lasting}`);
    injectLastingFault(this.#lasting, { cluster, others: topicOfOthers, random: this.#limits });
    // In others nothing comes any more that would show a reader that it is wrong.
    if (this.#endings.chance(0.3) && !this.#administration.hasLostPositions()) this.#topic.endTransactions();
    else this.#topic.finish(random.chance);
    await clock.runUntil(clock.getTime() + recoveryMs, () => {
      this.#administration.decide((collection) => this.#world.server.readAll(collection));
      return this.#listBehind().length === 0;
    });
    const behind = this.#listBehind();
    if (behind.length > 0)
      throw new Violation(
        `the sync has not caught up ${recoveryMs / 1_000} s after the last fault, with ${this.#lasting} still: ${behind.join(", ")}`,
      );
  }

  #listBehind(): readonly string[] {
    return findLag({
      topic: this.#topic,
      readAll: (collection) => this.#world.server.readAll(collection),
      isInLog: (partition, current) => !this.#isChecked || this.#oracle.isInLog(partition, current),
    });
  }

  /** Who lacks a right says so. */
  async #denyRight(): Promise<void> {
    const right = this.#right;
    if (right === "none") return;
    const { clock } = this.#world;
    const before = this.#denialsTold;
    this.#administration.act({ do: "revoke right", right });
    await clock.runUntil(clock.getTime() + denialMs, () => this.#denialsTold > before);
    if (this.#denialsTold === before)
      throw new Violation(`Kafka has denied a right for ${denialMs / 1_000} s, which nobody says: ${right}`);
  }
}
