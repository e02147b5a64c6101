import type { NewEgress } from "../../config.ts";
import { getErrorMessage } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { elapsed } from "../../lib/platform.ts";
import type { EgressObstacle, EgressTopics } from "../../routing/transactions.ts";
import { findDenial, hasType, toKafkaError } from "../errors.ts";
import type { AdminClients } from "./topics.ts";

export interface EgressTopicsOptions extends AdminClients {
  /** Undefined: missing Kafka topics are not created. */
  readonly create: NewEgress | undefined;
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
const maxAgeMs = 60_000;
/** How long events of a Kafka topic become dead letters without another attempt. */
const maxDenialAgeMs = 60_000;
/** A request of this size takes the broker less than its time limit. */
const maxTopicsPerRequest = 200;

/** Creates the look-up of Kafka topics, and of those that are missing. */
export function createEgressTopics({ admin, requests, create, log }: EgressTopicsOptions): EgressTopicsAdmin {
  /** The number of partitions by name. */
  let known = new Map<string, number>();
  let readAt = -Infinity;
  /** Why a Kafka topic takes no records, and until when that counts. */
  const denied = new Map<string, { readonly reason: string; readonly until: number }>();

  function findRemembered(name: string): EgressObstacle | undefined {
    const denial = denied.get(name);
    if (denial === undefined) return undefined;
    if (denial.until > elapsed()) return { code: "EGRESS_REJECTED", reason: denial.reason };
    denied.delete(name);
    return undefined;
  }

  async function read(): Promise<void> {
    const { topics } = await requests.fetchMetadata(null);
    const found = topics.filter(({ error }) => error === 0);
    known = new Map(found.map(({ name, partitions }) => [name, partitions.length]));
    readAt = elapsed();
  }

  /** Returns why topics were not created. */
  async function createTopics(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const reasons = new Map<string, string>();
    if (create === undefined) return reasons;
    const { partitions: numPartitions = -1, replication: replicationFactor = -1 } = create;
    for (let first = 0; first < names.length; first += maxTopicsPerRequest) {
      const topics = names
        .slice(first, first + maxTopicsPerRequest)
        .map((topic) => ({ topic, numPartitions, replicationFactor }));
      try {
        await admin.createTopics({ topics });
        log.info(
          { count: topics.length, topics: topics.slice(0, 10).map(({ topic }) => topic) },
          "egress topics created",
        );
      } catch (error) {
        for (const [topic, reason] of findReasons(error, topics)) reasons.set(topic, reason);
      }
    }
    return reasons;
  }

  /** Creates those that are missing, and returns why some were not created. */
  async function createMissing(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (names.length === 0 || create === undefined) return new Map();
    const reasons = await createTopics(names);
    await read();
    return reasons;
  }

  return {
    async find(names) {
      const wanted = [...names];
      const listMissing = (): string[] => wanted.filter((name) => !known.has(name));
      if (elapsed() - readAt > maxAgeMs || listMissing().length > 0) await read();
      const reasons = await createMissing(listMissing());
      return new Map(
        wanted.map((name) => [
          name,
          findRemembered(name) ??
            known.get(name) ?? {
              code: "NO_EGRESS_TOPIC",
              reason: reasons.get(name) ?? "it does not exist, or this user may not see it",
            },
        ]),
      );
    },
    deny(name, reason) {
      denied.set(name, { reason, until: elapsed() + maxDenialAgeMs });
    },
    forget() {
      readAt = -Infinity;
    },
    async list() {
      await read();
      return [...known.keys()];
    },
    create: createTopics,
  };
}

/** The reason for each topic that the broker refused to create. Throws UnavailableError in an outage. */
function findReasons(error: unknown, topics: readonly { readonly topic: string }[]): Map<string, string> {
  const parts =
    error instanceof Error && "errors" in error && Array.isArray(error.errors) ? error.errors : [];
  const reasons = new Map<string, string>();
  for (const part of parts as readonly (Error & { readonly topic?: string })[]) {
    // Another process created it.
    if (part.topic === undefined || hasType(part, "TOPIC_ALREADY_EXISTS")) continue;
    reasons.set(part.topic, `it cannot be created: ${part.message}`);
  }
  if (reasons.size > 0) return reasons;
  if (findDenial(error) === undefined) throw toKafkaError(error);
  return new Map(topics.map(({ topic }) => [topic, `it cannot be created: ${getErrorMessage(error)}`]));
}
