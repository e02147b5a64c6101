import { KafkaUnavailableError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { elapsed, sleep } from "@topicsync/lib/platform";
import type { NewEgress } from "../interface/config.ts";
import type { EgressObstacle, EgressTopics } from "../interface/routing-transactions.ts";
import { toKafkaError } from "../errors.ts";
import { errorCodes } from "../protocol/error-codes.ts";
import { createError } from "../protocol/request.ts";
import type { KafkaRequests } from "../requests.ts";

/** The Kafka topics that are created because an event needs them, not on a person's command. */
export interface AutomaticCreation {
  /** The limit until the process ends. */
  readonly maxTopics: number;
  readonly onCreated: (names: readonly string[]) => void;
}

export interface EgressTopicsOptions {
  readonly requests: Pick<KafkaRequests, "fetchMetadata" | "createTopics">;
  /** Undefined: missing Kafka topics are not created. */
  readonly create: NewEgress | undefined;
  readonly automatic?: AutomaticCreation | undefined;
  readonly log: Logger;
}

/** The Kafka topics that events are forwarded to, for the command line. */
export interface EgressTopicsAdmin extends EgressTopics {
  /** Returns the names of all Kafka topics. Throws UnavailableError. */
  list(): Promise<readonly string[]>;
  /** Creates Kafka topics. Returns why some were not created, by name. Throws UnavailableError. */
  create(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** How soon partitions that were added are used. */
const maxAgeMs = 20_000;
/** A broker that has just started, or lags behind, does not know every Kafka topic. */
const confirmationDelayMs = 2_000;
/**
 * How long events of a Kafka topic become dead letters without another attempt to write to it or to create
 * it.
 */
const maxRefusalAgeMs = 60_000;

/** The errors for names that do not exist, are hidden from this user, or cannot exist. */
const missingErrors = new Set<number>([
  errorCodes.unknownTopicOrPartition,
  errorCodes.topicAuthorizationFailed,
  errorCodes.invalidTopic,
]);

/** A request of this size takes the broker less than its time limit. */
const maxTopicsPerRequest = 200;

/** Why a Kafka topic was not created, unless another process has created it. */
interface CreationFailure {
  readonly reason: string;
  readonly isFinal: boolean;
}

interface Known {
  readonly partitions: number;
  readonly readAt: number;
}

interface Refusal {
  readonly obstacle: EgressObstacle;
  readonly until: number;
}

/**
 * Looks Kafka topics up, and creates those that are missing. An outage must not make dead letters, so a Kafka
 * topic counts as missing only after two look-ups did not find it. Several partitions use this concurrently.
 */
export class EgressTopicsDirectory implements EgressTopicsAdmin {
  readonly #options: EgressTopicsOptions;
  readonly #known = new Map<string, Known>();
  /** Those that two look-ups did not find. The next look-up need not be confirmed. */
  readonly #missing = new Set<string>();
  /** Those that cannot be written to or created. */
  readonly #refused = new Map<string, Refusal>();
  #createdCount = 0;
  /** One creation at a time, or several partitions would exceed the limit together. */
  #creation: Promise<unknown> = Promise.resolve();
  #isLimitLogged = false;

  constructor(options: EgressTopicsOptions) {
    this.#options = options;
  }

  async find(names: Iterable<string>): Promise<ReadonlyMap<string, number | EgressObstacle>> {
    const wanted = [...names];
    const unsure = wanted.filter((name) => !this.#isKnown(name) && this.#findRefusal(name) === undefined);
    const missing = await this.#createMissing(await this.#lookUpTwice(unsure));
    return new Map(wanted.map((name) => [name, this.#describe(name, missing)]));
  }

  deny(name: string, reason: string): void {
    this.#refuse(name, { code: "EGRESS_REJECTED", reason });
  }

  forget(): void {
    this.#known.clear();
  }

  async list(): Promise<readonly string[]> {
    const { topics } = await this.#options.requests.fetchMetadata(null);
    return topics.filter(({ error }) => error === 0).map(({ name }) => name);
  }

  async create(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const failures = await this.#createTopics(names, () => undefined);
    return new Map([...failures].map(([name, { reason }]) => [name, reason]));
  }

  #isKnown(name: string): boolean {
    const found = this.#known.get(name);
    return found !== undefined && elapsed() - found.readAt <= maxAgeMs;
  }

  #refuse(name: string, obstacle: EgressObstacle): void {
    this.#refused.set(name, { obstacle, until: elapsed() + maxRefusalAgeMs });
  }

  #findRefusal(name: string): EgressObstacle | undefined {
    const refusal = this.#refused.get(name);
    if (refusal === undefined || refusal.until > elapsed()) return refusal?.obstacle;
    this.#refused.delete(name);
    return undefined;
  }

  /** Throws UnavailableError if another partition's look-up, or `forget`, came in between. */
  #describe(name: string, missing: readonly string[]): number | EgressObstacle {
    const found = this.#findRefusal(name) ?? this.#known.get(name)?.partitions;
    if (found !== undefined) return found;
    if (!missing.includes(name))
      throw new KafkaUnavailableError(`the Kafka topic "${name}" has to be looked up again`);
    return { code: "NO_EGRESS_TOPIC", reason: "it does not exist, or this user may not see it" };
  }

  /** Asks one broker for these Kafka topics. Returns those that it does not know. */
  async #lookUp(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return [];
    const { brokers, topics } = await this.#options.requests.fetchMetadata(names);
    if (brokers.length === 0) throw new KafkaUnavailableError("the broker does not know its cluster yet");
    const readAt = elapsed();
    const unknown: string[] = [];
    for (const { name, error, partitions } of topics) {
      if (missingErrors.has(error)) {
        this.#known.delete(name);
        unknown.push(name);
        continue;
      }
      if (error !== 0) throw toKafkaError(createError(error));
      this.#known.set(name, { partitions: partitions.length, readAt });
      this.#missing.delete(name);
    }
    return unknown;
  }

  async #lookUpTwice(names: readonly string[]): Promise<readonly string[]> {
    const unknown = await this.#lookUp(names);
    if (unknown.every((name) => this.#missing.has(name))) return unknown;
    await sleep(confirmationDelayMs);
    const confirmed = await this.#lookUp(unknown);
    for (const name of confirmed) this.#missing.add(name);
    return confirmed;
  }

  /** Calls back with those that each request has created, also if a later one fails. */
  async #createTopics(
    names: readonly string[],
    onCreated: (names: readonly string[]) => void,
  ): Promise<ReadonlyMap<string, CreationFailure>> {
    const { requests, create, log } = this.#options;
    const failures = new Map<string, CreationFailure>();
    if (create === undefined) return failures;
    const { partitions = -1, replication = -1 } = create;
    for (let first = 0; first < names.length; first += maxTopicsPerRequest) {
      const topics = names
        .slice(first, first + maxTopicsPerRequest)
        .map((name) => ({ name, partitions, replication, settings: {} }));
      const creations = await requests.createTopics(topics);
      for (const { name, refusal } of creations)
        if (refusal !== undefined)
          failures.set(name, { reason: `it cannot be created: ${refusal.reason}`, isFinal: refusal.isFinal });
      const added = creations.filter(({ isCreated }) => isCreated).map(({ name }) => name);
      if (added.length === 0) continue;
      log.info({ count: added.length, topics: added.slice(0, 10) }, "egress topics created");
      onCreated(added);
    }
    return failures;
  }

  /** Returns those that are still missing. Throws UnavailableError if they may be created in a moment. */
  async #createMissing(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0 || this.#options.create === undefined) return names;
    // Another partition may create some of them until then.
    const created = this.#creation.then(() =>
      this.#createUnknown(names.filter((name) => !this.#isKnown(name))),
    );
    this.#creation = created.catch(() => undefined);
    return created;
  }

  async #createUnknown(names: readonly string[]): Promise<readonly string[]> {
    const { maxTopics = Infinity } = this.#options.automatic ?? {};
    let rest = names;
    while (rest.length > 0 && this.#createdCount < maxTopics) {
      const next = rest.slice(0, maxTopics - this.#createdCount);
      rest = rest.slice(next.length);
      await this.#createSome(next);
    }
    this.#refuseSurplus(rest, maxTopics);
    for (const name of names) this.#missing.delete(name);
    return this.#lookUpTwice(names.filter((name) => this.#findRefusal(name) === undefined));
  }

  /** Throws UnavailableError if they may be created in a moment. */
  async #createSome(names: readonly string[]): Promise<void> {
    const failures = await this.#createTopics(names, (created) => {
      this.#createdCount += created.length;
      this.#options.automatic?.onCreated(created);
    });
    for (const [name, { reason, isFinal }] of failures) {
      if (!isFinal) throw new KafkaUnavailableError(`the Kafka topic "${name}" is missing, and ${reason}`);
      this.#refuse(name, { code: "NO_EGRESS_TOPIC", reason });
    }
  }

  #refuseSurplus(names: readonly string[], maxTopics: number): void {
    const reason = `it does not exist, and KAFKA_EGRESS_MAX_CREATED (${maxTopics}) Kafka topics have been created`;
    for (const name of names) this.#refuse(name, { code: "NO_EGRESS_TOPIC", reason });
    if (names.length > 0 && !this.#isLimitLogged)
      this.#options.log.warn({ maxTopics, topics: names.slice(0, 10) }, "no more egress topics are created");
    this.#isLimitLogged ||= names.length > 0;
  }
}
