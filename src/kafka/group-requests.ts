import PQueue from "p-queue";

import { getErrorMessage } from "../lib/errors.ts";
import type { ConsumerGroup, GroupReading } from "../routing/consumers.ts";
import { quoteGroup, toKafkaError } from "./errors.ts";
import { fetchMetadata, findBroker, listEnds, type Cluster } from "./log-requests.ts";
import {
  requestClassicGroups,
  requestClusterRight,
  requestConsumerGroups,
  requestGroupOffsets,
  requestGroups,
  type DescribedGroup,
  type GroupOffsets,
  type ListedGroup,
} from "./protocol/groups.ts";
import { failOnError, supports, type RequestTarget } from "./protocol/request.ts";

export interface GroupQuery {
  /** Whether a Kafka topic is an egress topic. */
  readonly isEgressTopic: (topic: string) => boolean;
  readonly isOwnGroup: (groupId: string) => boolean;
}

const maxConcurrentRequests = 16;
const groupsPerRequest = 100;
const consumerGroupDescribeKey = 69;

/** A group with the broker that coordinates it. */
interface CoordinatedGroup extends ListedGroup {
  readonly broker: RequestTarget;
}

interface ReaderGroup extends CoordinatedGroup {
  /** In egress topics. */
  readonly committed: readonly GroupOffsets[];
}

/** The reasons why something was not read, each with an example. */
class Problems {
  readonly #counts = new Map<string, { example: string; count: number }>();

  add(reason: string, group: string): void {
    const known = this.#counts.get(reason);
    if (known === undefined) this.#counts.set(reason, { example: group, count: 1 });
    else known.count += 1;
  }

  list(): string[] {
    return [...this.#counts].map(([reason, { example, count }]) =>
      count === 1
        ? `${quoteGroup(example)}: ${reason}`
        : `${quoteGroup(example)} and ${count - 1} more: ${reason}`,
    );
  }
}

/**
 * Reads all consumer groups that have committed offsets in egress topics. What cannot be read is left out,
 * and named in `problems`. Throws UnavailableError if no broker responds.
 */
export async function readConsumerGroups(cluster: Cluster, query: GroupQuery): Promise<GroupReading> {
  const queue = new PQueue({ concurrency: maxConcurrentRequests });
  const problems = new Problems();
  const { groups, failures } = await listGroups(cluster);
  const candidates = groups.filter(({ groupId, type }) => type !== "share" && !query.isOwnGroup(groupId));
  const found = await Promise.all(
    candidates.map((group) => queue.add(() => readOffsets(group, query, problems))),
  );
  const readers = found.filter((group) => group !== undefined);
  const described = await describeGroups(readers, queue, problems);
  const topics = new Set(readers.flatMap(({ committed }) => committed.map(({ topic }) => topic)));
  const ends = await listEnds(cluster, [...topics], (error) => {
    failures.push(`the ends of some egress topics: ${explain(error)}`);
  });
  return {
    groups: readers.map((reader) => toConsumerGroup(reader, described.get(reader.groupId), ends)),
    problems: [...failures, ...problems.list()],
  };
}

/** Asks every broker for its groups. */
async function listGroups(cluster: Cluster): Promise<{ groups: CoordinatedGroup[]; failures: string[] }> {
  const { brokers } = await fetchMetadata(cluster, []);
  const failures: string[] = [];
  const lists = await Promise.all(
    brokers.map(async ({ nodeId }) => {
      try {
        const broker = await findBroker(cluster, nodeId);
        return (await requestGroups(broker)).map((group): CoordinatedGroup => ({ ...group, broker }));
      } catch (error) {
        failures.push(`the groups of broker ${nodeId}: ${explain(error)}`);
        return [];
      }
    }),
  );
  if (failures.length === brokers.length) throw toKafkaError(new Error(failures.join(", ")));
  if ((await requestClusterRight(await cluster.brokerPool.findConnectedBroker())) === false)
    failures.push(
      "Kafka denies its user Describe on the cluster, and lists only the groups on which the user has Describe",
    );
  return { groups: lists.flat(), failures };
}

/** Undefined if the group reads no egress topic, or cannot be read. */
async function readOffsets(
  group: CoordinatedGroup,
  { isEgressTopic }: GroupQuery,
  problems: Problems,
): Promise<ReaderGroup | undefined> {
  try {
    const committed = (await requestGroupOffsets(group.broker, group.groupId)).filter(
      ({ topic, offsets }) => offsets.length > 0 && isEgressTopic(topic),
    );
    return committed.length === 0 ? undefined : { ...group, committed };
  } catch (error) {
    problems.add(explain(error), group.groupId);
    return undefined;
  }
}

const explain = (error: unknown): string =>
  getErrorMessage(toKafkaError(error, { GROUP_AUTHORIZATION_FAILED: "Describe on the group" }));

async function describeGroups(
  readers: readonly ReaderGroup[],
  queue: PQueue,
  problems: Problems,
): Promise<ReadonlyMap<string, DescribedGroup>> {
  const found = new Map<string, DescribedGroup>();
  async function describe(
    groups: readonly ReaderGroup[],
    request: (broker: RequestTarget, ids: string[]) => Promise<DescribedGroup[]>,
  ): Promise<void> {
    const [first] = groups;
    if (first === undefined) return;
    const ids = groups.map(({ groupId }) => groupId);
    try {
      for (const one of await request(first.broker, ids)) {
        try {
          failOnError(one.error);
          found.set(one.groupId, one);
        } catch (error) {
          problems.add(explain(error), one.groupId);
        }
      }
    } catch (error) {
      for (const id of ids) problems.add(explain(error), id);
    }
  }
  const requests = [...Map.groupBy(readers, ({ broker }) => broker)].flatMap(([broker, groups]) => [
    ...splitGroups(groups, "classic").map((some) => () => describe(some, requestClassicGroups)),
    // Brokers before Kafka 3.7 have no such groups.
    ...(supports(broker, consumerGroupDescribeKey, 0)
      ? splitGroups(groups, "consumer").map((some) => () => describe(some, requestConsumerGroups))
      : []),
  ]);
  await queue.addAll(requests);
  return found;
}

function splitGroups(groups: readonly ReaderGroup[], type: string): ReaderGroup[][] {
  const ofType = groups.filter((group) => group.type === type);
  return Array.from({ length: Math.ceil(ofType.length / groupsPerRequest) }, (_, at) =>
    ofType.slice(at * groupsPerRequest, (at + 1) * groupsPerRequest),
  );
}

/** Kafka's names of states, of both protocols. */
const states: Readonly<Record<string, ConsumerGroup["state"]>> = {
  Stable: "stable",
  Empty: "stopped",
  Dead: "stopped",
  PreparingRebalance: "rebalancing",
  CompletingRebalance: "rebalancing",
  Assigning: "rebalancing",
  Reconciling: "rebalancing",
};

function toConsumerGroup(
  { groupId: group, type, state, committed }: ReaderGroup,
  described: DescribedGroup | undefined,
  ends: ReadonlyMap<string, ReadonlyMap<number, number>>,
): ConsumerGroup {
  const lags = committed.map(({ topic, offsets }) => [topic, sumLag(offsets, ends.get(topic))] as const);
  return {
    ...{ group, type, members: described?.members },
    state: states[described?.state ?? state] ?? "unknown",
    lags: new Map(lags),
  };
}

/** Undefined if the log has no such offsets: it was deleted, perhaps created again. */
function sumLag(
  offsets: GroupOffsets["offsets"],
  ends: ReadonlyMap<number, number> | undefined,
): number | undefined {
  let sum = 0;
  for (const { partition, offset } of offsets) {
    const end = ends?.get(partition);
    if (end === undefined || offset > end) return undefined;
    sum += end - offset;
  }
  return sum;
}
