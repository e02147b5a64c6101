import type { NewEgress } from "../../kafka-config.ts";
import { getErrorMessage, KafkaUnavailableError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { elapsed, sleep } from "../../lib/platform.ts";
import type { EgressObstacle, EgressTopics } from "../../routing/transactions.ts";
import { findDenial, hasType, toKafkaError } from "../errors.ts";
import { failOnError } from "../protocol/request.ts";
import type { AdminClients } from "./topics.ts";

/** The Kafka topics that are created because an event needs them, not on a person's command. */
export interface AutomaticCreation {
  /** How many at most until the process ends. */
  readonly maxTopics: number;
  readonly onCreated: (names: readonly string[]) => void;
}

export interface EgressTopicsOptions extends AdminClients {
  /** Undefined: missing Kafka topics are not created. */
  readonly create: NewEgress | undefined;
  readonly automatic?: AutomaticCreation | undefined;
  readonly log: Logger;
}

/** The Kafka topics that events are forwarded to, for the command line. */
export interface EgressTopicsAdmin extends EgressTopics {
  /** The names of all Kafka topics. Throws UnavailableError. */
  list(): Promise<readonly string[]>;
  /** Creates Kafka topics. Returns why some were not created, by name. Throws UnavailableError. */
  create(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** How soon partitions that were added are used. */
const maxAgeMs = 20_000;
/** A broker that has just started, or lags behind, does not know every Kafka topic. */
const confirmationDelayMs = 2_000;
/** How long events of a Kafka topic become dead letters without another attempt to write to it or to create it. */
const maxRefusalAgeMs = 60_000;
/** A request of this size takes the broker less than its time limit. */
const maxTopicsPerRequest = 200;

/** The errors of names that do not exist, are hidden from this user, or cannot exist. */
const missingErrors: ReadonlySet<number> = new Set([3, 29, 17]);

/** Why a Kafka topic is not created, unless that may be different in a moment. */
const finalRefusals = [
  "INVALID_TOPIC_EXCEPTION",
  "POLICY_VIOLATION",
  "INVALID_CONFIG",
  "INVALID_PARTITIONS",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
];

interface Known {
  readonly partitions: number;
  readonly readAt: number;
}

interface Refusal {
  readonly obstacle: EgressObstacle;
  readonly until: number;
}

/** Creates the look-up of Kafka topics, and of those that are missing. */
export function createEgressTopics(options: EgressTopicsOptions): EgressTopicsAdmin {
  const { admin, requests, create, automatic, log } = options;
  const known = new Map<string, Known>();
  /** Those that two look-ups did not find. The next one need not be confirmed. */
  const missing = new Set<string>();
  /** Those that cannot be written to or created, by name. */
  const refused = new Map<string, Refusal>();

  let created = 0;
  let isLimitLogged = false;

  const refuse = (name: string, obstacle: EgressObstacle): void => {
    refused.set(name, { obstacle, until: elapsed() + maxRefusalAgeMs });
  };

  function isKnown(name: string): boolean {
    const found = known.get(name);
    return found !== undefined && elapsed() - found.readAt <= maxAgeMs;
  }

  function findRefusal(name: string): EgressObstacle | undefined {
    const refusal = refused.get(name);
    if (refusal === undefined || refusal.until > elapsed()) return refusal?.obstacle;
    refused.delete(name);
    return undefined;
  }

  /** Asks one broker for these Kafka topics. Returns those that it does not know. */
  async function lookUp(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return [];
    const { brokers, topics } = await requests.fetchMetadata(names);
    if (brokers.length === 0) throw new KafkaUnavailableError("the broker does not know its cluster yet");
    const readAt = elapsed();
    const unknown: string[] = [];
    for (const { name, error, partitions } of topics) {
      if (missingErrors.has(error)) {
        known.delete(name);
        unknown.push(name);
        continue;
      }
      failOnError(error);
      known.set(name, { partitions: partitions.length, readAt });
      missing.delete(name);
    }
    return unknown;
  }

  /** An outage must not make dead letters: one answer of one broker is not enough. */
  async function lookUpTwice(names: readonly string[]): Promise<readonly string[]> {
    const unknown = await lookUp(names);
    if (unknown.every((name) => missing.has(name))) return unknown;
    await sleep(confirmationDelayMs);
    const confirmed = await lookUp(unknown);
    for (const name of confirmed) missing.add(name);
    return confirmed;
  }

  /** Topics that another process has created are in neither part of the result. */
  async function createTopics(names: readonly string[]): Promise<Creation> {
    const successful: string[] = [];
    const failures = new Map<string, CreationFailure>();
    if (create === undefined) return { successful, failures };
    const { partitions: numPartitions = -1, replication: replicationFactor = -1 } = create;
    for (let first = 0; first < names.length; first += maxTopicsPerRequest) {
      const topics = names
        .slice(first, first + maxTopicsPerRequest)
        .map((topic) => ({ topic, numPartitions, replicationFactor }));
      const refusals = await admin.createTopics({ topics }).then(
        // False if all of them exist.
        (isCreated) => (isCreated ? [] : topics.map(({ topic }): Refused => [topic, undefined])),
        (error: unknown) => findRefusals(error, topics),
      );
      const refusedNames = new Set(refusals.map(([topic]) => topic));
      const added = topics.map(({ topic }) => topic).filter((topic) => !refusedNames.has(topic));
      successful.push(...added);
      for (const [topic, failure] of refusals) if (failure !== undefined) failures.set(topic, failure);
      if (added.length > 0)
        log.info({ count: added.length, topics: added.slice(0, 10) }, "egress topics created");
    }
    return { successful, failures };
  }

  /** Returns those that may be created within the limit. */
  function refuseSurplus(names: readonly string[]): readonly string[] {
    const { maxTopics = Infinity } = automatic ?? {};
    const surplus = names.slice(Math.max(0, maxTopics - created));
    const reason = `it does not exist, and KAFKA_EGRESS_MAX_CREATED (${maxTopics}) Kafka topics have been created`;
    for (const name of surplus) refuse(name, { code: "NO_EGRESS_TOPIC", reason });
    if (surplus.length > 0 && !isLimitLogged)
      log.warn({ maxTopics, topics: surplus.slice(0, 10) }, "no more egress topics are created");
    isLimitLogged ||= surplus.length > 0;
    return names.slice(0, names.length - surplus.length);
  }

  /** Throws UnavailableError if they may be created in a moment. */
  async function createMissing(names: readonly string[]): Promise<void> {
    if (names.length === 0 || create === undefined) return;
    const allowed = refuseSurplus(names);
    const { successful, failures } = await createTopics(allowed);
    created += successful.length;
    if (successful.length > 0) automatic?.onCreated(successful);
    for (const [name, { reason, isFinal }] of failures) {
      if (!isFinal) throw new KafkaUnavailableError(`the Kafka topic "${name}" is missing, and ${reason}`);
      refuse(name, { code: "NO_EGRESS_TOPIC", reason });
    }
    for (const name of names) missing.delete(name);
    await lookUpTwice(names.filter((name) => findRefusal(name) === undefined));
  }

  const describe = (name: string): number | EgressObstacle =>
    findRefusal(name) ??
    known.get(name)?.partitions ?? {
      code: "NO_EGRESS_TOPIC",
      reason: "it does not exist, or this user may not see it",
    };

  return {
    async find(names) {
      const wanted = [...names];
      const unsure = wanted.filter((name) => !isKnown(name) && findRefusal(name) === undefined);
      await attempt(async () => createMissing(await lookUpTwice(unsure)));
      return new Map(wanted.map((name) => [name, describe(name)]));
    },
    deny(name, reason) {
      refuse(name, { code: "EGRESS_REJECTED", reason });
    },
    forget() {
      known.clear();
    },
    async list() {
      const { topics } = await attempt(() => requests.fetchMetadata(null));
      return topics.filter(({ error }) => error === 0).map(({ name }) => name);
    },
    async create(names) {
      const { failures } = await createTopics(names);
      return new Map([...failures].map(([name, { reason }]) => [name, reason]));
    },
  };
}

async function attempt<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw toKafkaError(error);
  }
}

interface Creation {
  readonly successful: readonly string[];
  readonly failures: ReadonlyMap<string, CreationFailure>;
}

/** Without a failure: it exists. */
type Refused = readonly [topic: string, failure: CreationFailure | undefined];

interface CreationFailure {
  readonly reason: string;
  readonly isFinal: boolean;
}

/** The topics that the broker refused to create, and why. Throws UnavailableError in an outage. */
function findRefusals(error: unknown, topics: readonly { readonly topic: string }[]): Refused[] {
  const parts =
    error instanceof Error && "errors" in error && Array.isArray(error.errors) ? error.errors : [];
  if (parts.length > 0)
    return (parts as readonly (Error & { readonly topic?: string })[]).map((part) => [
      part.topic ?? "",
      hasType(part, "TOPIC_ALREADY_EXISTS") ? undefined : toFailure(part),
    ]);
  if (findDenial(error) === undefined) throw toKafkaError(error);
  return topics.map(({ topic }) => [topic, toFailure(error)]);
}

const toFailure = (error: unknown): CreationFailure => ({
  reason: `it cannot be created: ${getErrorMessage(error)}`,
  isFinal: hasType(error, ...finalRefusals),
});
