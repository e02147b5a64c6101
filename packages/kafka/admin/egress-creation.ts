import type { Logger } from "@topicsync/lib/logger";
import type { NewEgress } from "../interface/config.ts";
import type { KafkaRequests } from "../requests.ts";

/** A request of this size takes the broker less than its time limit. */
const maxTopicsPerRequest = 200;

/** Why Kafka topics were not created, by name. Those that another process has created are not among them. */
export type CreationFailures = ReadonlyMap<string, CreationFailure>;

interface CreationFailure {
  readonly reason: string;
  readonly isFinal: boolean;
}

interface CreationOptions {
  readonly create: NewEgress;
  /** Called with those that each request has created, also if a later one fails. */
  readonly onCreated: (names: readonly string[]) => void;
  readonly log: Logger;
}

/** Creates Kafka topics for events. Throws UnavailableError in an outage. */
export async function createEgress(
  requests: Pick<KafkaRequests, "createTopics">,
  names: readonly string[],
  { create, onCreated, log }: CreationOptions,
): Promise<CreationFailures> {
  const failures = new Map<string, CreationFailure>();
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
