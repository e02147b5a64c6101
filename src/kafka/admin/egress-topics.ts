import type { Admin } from "kafkajs";

import type { RouterConfig } from "../../config.ts";
import { getErrorMessage } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { elapsed } from "../../lib/platform.ts";
import type { EgressTopics } from "../../routing/transactions.ts";
import { findDenial, toKafkaError } from "../errors.ts";

export interface EgressTopicsOptions {
  readonly admin: Admin;
  /** Undefined: missing Kafka topics are not created. */
  readonly create: RouterConfig["createEgress"];
  readonly log: Logger;
}

/** How soon partitions that were added are used. */
const maxAgeMs = 60_000;
/** A request of this size takes the broker less than its time limit. */
const maxTopicsPerRequest = 200;

/** Creates the look-up of Kafka topics, and of those that are missing. */
export function createEgressTopics({ admin, create, log }: EgressTopicsOptions): EgressTopics {
  /** The number of partitions by name. */
  let known = new Map<string, number>();
  let readAt = -Infinity;

  async function read(): Promise<void> {
    // Without names, the metadata of all Kafka topics.
    const { topics } = await admin.fetchTopicMetadata().catch((error: unknown) => {
      throw toKafkaError(error);
    });
    known = new Map(topics.map(({ name, partitions }) => [name, partitions.length]));
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
    await read();
    return reasons;
  }

  return {
    async find(names) {
      const wanted = [...names];
      const listMissing = (): string[] => wanted.filter((name) => !known.has(name));
      if (elapsed() - readAt > maxAgeMs || listMissing().length > 0) await read();
      const missing = listMissing();
      const reasons = missing.length > 0 ? await createTopics(missing) : new Map<string, string>();
      return new Map(
        wanted.map((name) => [
          name,
          known.get(name) ?? reasons.get(name) ?? "it does not exist, or this user may not see it",
        ]),
      );
    },
    forget() {
      readAt = -Infinity;
    },
  };
}

/** The reason for each topic that the broker refused to create. Throws UnavailableError in an outage. */
function findReasons(error: unknown, topics: readonly { readonly topic: string }[]): Map<string, string> {
  const parts =
    error instanceof Error && "errors" in error && Array.isArray(error.errors) ? error.errors : [];
  const reasons = new Map<string, string>();
  for (const part of parts as readonly (Error & { readonly topic?: string })[])
    if (part.topic !== undefined) reasons.set(part.topic, `it cannot be created: ${part.message}`);
  if (reasons.size > 0) return reasons;
  if (findDenial(error) === undefined) throw toKafkaError(error);
  return new Map(topics.map(({ topic }) => [topic, `it cannot be created: ${getErrorMessage(error)}`]));
}
