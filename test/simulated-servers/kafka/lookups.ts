/** Which log a request reaches: what a broker tells of a topic may be ahead of the logs that it has. */
import type { Bounds, Copy } from "./copies.ts";
import { codes } from "./errors.ts";
import type { PartitionLog } from "./log.ts";
import type { BrokerNode, Partition } from "./topics.ts";

/** The error code of a request that reaches no log, or the partition. */
export type Found =
  | { readonly error: number; readonly partition?: never; readonly bounds?: never; readonly copy?: never }
  | {
      readonly error: typeof codes.none;
      readonly partition: Partition;
      /** As the broker knows them. */
      readonly bounds: Bounds;
      readonly copy?: Copy;
    };

const toBounds = ({ low, end, stable }: PartitionLog): Bounds => ({ low, end, stable });

/** Among what clients have no right on: to fetch from a topic, which they may describe. */
export const nameFetching = (topic: string): string => `fetching from ${topic}`;

/** `denied`: the topics that clients have no right on. */
export function createLookups(denied: ReadonlySet<string>) {
  /** Reaches a log of a topic that was deleted as long as the broker has no other. */
  function findNamed(node: BrokerNode, topic: string, number: number): Found {
    if (denied.has(topic)) return { error: codes.topicDenied };
    if (node.metadata.topics.get(topic)?.partitions[number] === undefined)
      return { error: codes.unknownTopicOrPartition };
    const { partition, leader } = node.logs.topics.get(topic)?.partitions[number] ?? {};
    if (partition?.leader === node.nodeId)
      return { error: codes.none, partition, bounds: toBounds(partition.log) };
    const former = partition?.former;
    // By what the broker knows it leads.
    if (partition === undefined || former?.nodeId !== node.nodeId || leader !== node.nodeId)
      return { error: codes.notLeader };
    return { error: codes.none, partition, bounds: { ...toBounds(partition.log), ...former } };
  }

  /** As `findNamed`. Consumers may also fetch from copies, since KIP-392. */
  function findFetched(node: BrokerNode, topic: string, number: number): Found {
    if (denied.has(nameFetching(topic))) return { error: codes.topicDenied };
    const found = findNamed(node, topic, number);
    const partition = node.logs.topics.get(topic)?.partitions[number]?.partition;
    return found.error === codes.notLeader && partition?.copy !== undefined
      ? { error: codes.none, partition, bounds: partition.copy.getBounds(), copy: partition.copy }
      : found;
  }

  function findById(node: BrokerNode, id: string, number: number): Found {
    const [name] = [...node.metadata.topics].find(([, topic]) => topic.id === id) ?? [];
    if (name === undefined) return { error: codes.unknownTopicId };
    const found = findFetched(node, name, number);
    const isOther = found.partition !== undefined && node.logs.topics.get(name)?.id !== id;
    return isOther ? { error: codes.inconsistentTopicId } : found;
  }

  return { findNamed, findFetched, findById };
}

export type Lookups = ReturnType<typeof createLookups>;
