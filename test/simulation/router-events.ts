/**
 * The events topic of the router's world: what producers send, and what happens to its logs and to the
 * offsets of its group.
 */
import type { Clock, Host } from "./clock.ts";
import type { Cluster, NewRecord } from "./cluster/cluster.ts";
import type { PartitionLog } from "./cluster/log.ts";
import type { Partition } from "./cluster/topics.ts";
import type { RouterPositions } from "./router-positions.ts";
import type { EventsAction, SentEvent } from "./router-steps.ts";
import { startOfTime } from "./world.ts";

export interface EventsTopicOptions {
  readonly clock: Clock;
  readonly cluster: Cluster;
  /** What creates the topic. */
  readonly host: Host;
  readonly name: string;
  readonly groupId: string;
  readonly positions: RouterPositions;
  /**
   * Without topic ids, a log that seems to end before the position is read again, and other new ones are not
   * noticed.
   */
  readonly hasTopicIds: boolean;
  readonly hasOddTimestamps: boolean;
}

export type EventsTopic = ReturnType<typeof createEventsTopic>;

type RecreateEvents = Extract<EventsAction, { do: "recreate events" }>;

const maxPartitions = 3;

export function createEventsTopic(options: EventsTopicOptions) {
  const { clock, cluster, host, name, groupId, positions, hasTopicIds, hasOddTimestamps } = options;
  let lastTimestamp = startOfTime;

  const list = (): readonly Partition[] => cluster.topics.get(name)?.partitions ?? [];

  /** Does something with a partition, unless the topic is deleted. */
  function withPartition(number: number, use: (partition: Partition) => void): void {
    const partitions = list();
    const partition = partitions[number % Math.max(1, partitions.length)];
    if (partition !== undefined) use(partition);
  }

  function create(partitions: number): void {
    if (!cluster.topics.has(name)) positions.onCreated(cluster.registry.create({ name, partitions }));
  }

  function recreate({ partitions, ms, keepsOffsets = false }: RecreateEvents): void {
    if (keepsOffsets && !positions.mayBeSetByHand) cluster.registry.delete(name);
    else {
      cluster.deleteTopic(name);
      positions.onDeleted(clock.getTime());
    }
    clock.schedule(host, ms, () => {
      create(partitions);
    });
  }

  function setOffset(partition: number, offset: number | undefined): void {
    cluster.setOffset(groupId, name, partition, offset === undefined ? undefined : { offset, metadata: "" });
    positions.onSet(partition, offset, clock.getTime());
  }

  function produce(
    partition: Partition,
    events: readonly SentEvent[],
    transaction?: "commit" | "abort" | "leave open",
  ): void {
    cluster.produce(
      partition,
      events.map((event) => {
        lastTimestamp = Math.max(lastTimestamp + 1, startOfTime + Math.floor(clock.getTime()));
        return toRecord(event, hasOddTimestamps ? lastTimestamp + event.skewMs : lastTimestamp);
      }),
      transaction,
    );
  }

  function endTransactions(): void {
    for (const partition of list()) cluster.endTransaction(partition, true, (lastTimestamp += 1));
  }

  return {
    list,
    create,
    endTransactions,
    act(action: EventsAction): void {
      withPartition("partition" in action ? action.partition : 0, (partition) => {
        const { log } = partition;
        switch (action.do) {
          case "produce events":
            produce(partition, action.events, action.transaction === "none" ? undefined : action.transaction);
            break;
          case "end transaction":
            cluster.endTransaction(partition, action.commit, (lastTimestamp += 1));
            break;
          case "truncate":
            log.truncate(findOffset(log, action.share));
            break;
          case "set offset":
          case "reset offset":
            setOffset(
              partition.partition,
              action.share === undefined ? undefined : findOffset(log, action.share),
            );
            if (action.do === "reset offset") cluster.groups.get(groupId).rebalance();
            break;
          case "expire offsets":
            cluster.groups.deleteTopicOffsets(name);
            positions.onExpired(clock.getTime());
            if (action.rebalances) cluster.groups.get(groupId).rebalance();
            break;
          case "move events leader":
            cluster.moveLeader(name, partition.partition, action.to);
            break;
          case "grow events":
            if (list().length < maxPartitions) cluster.registry.grow(name, list().length + 1);
            break;
          case "cut events":
            if (!hasTopicIds) break;
            cluster.cut(partition, findOffset(log, action.share));
            positions.onCut(partition.partition, log);
            break;
          case "recreate events":
            if (hasTopicIds) recreate(action);
            break;
          case "old bounds":
            if (hasTopicIds) cluster.showOldBounds();
            break;
        }
      });
    },
    /** Sends the last events to each partition; only some of them with `isSent`, by partition and value. */
    finish(isSent: (partition: number, value: Buffer) => boolean = () => true): void {
      endTransactions();
      for (const partition of list()) {
        const sent = lastEvents.filter((event) => isSent(partition.partition, toValue(event)));
        if (sent.length > 0) produce(partition, sent);
      }
    },
    isMovedByHand: () => positions.isMovedByHand,
    /** Where the group has not reached the end; only of some partitions with `isMeant`. */
    listBehind: (isMeant: (partition: number) => boolean = () => true): readonly string[] =>
      list()
        .filter(({ partition, log }) => isMeant(partition) && positions.isBehind(partition, log))
        .map(
          ({ partition, log }) =>
            `partition ${partition} is at ${positions.describe(partition)}, and log ${log.id} ends at ${log.end}`,
        ),
  };
}

const findOffset = ({ low, end }: PartitionLog, share: number): number =>
  Math.floor(low + (end - low) * share);

/** One for each answer that the filters give. */
const lastEvents = (["A", "B"] as const).flatMap((eventType) =>
  [0, 1].map((level): SentEvent => ({
    ...{ kind: "event", key: undefined, eventType, level },
    ...{ isLarge: false, headers: 0, skewMs: 0, isForged: false },
  })),
);

function toValue({ kind, eventType, level, isLarge }: SentEvent): Buffer {
  const padding = isLarge ? "x".repeat(1_500) : "";
  const event = {
    eventId: "1",
    "@type": "Event",
    eventType: kind === "no event" ? 1 : eventType,
    event: { level: String(level), padding },
  };
  return Buffer.from(kind === "no JSON" ? "no JSON" : JSON.stringify(event));
}

function toRecord(sent: SentEvent, timestamp: number): NewRecord {
  const { key, headers, isForged = false } = sent;
  return {
    timestamp,
    key: key === undefined ? null : Buffer.from(`key ${key}`),
    value: toValue(sent),
    headers: [
      ...Array.from({ length: headers }, (_, index) =>
        toHeader(`header ${index}`, Buffer.from([index, 255, 0])),
      ),
      ...(isForged ? forgedHeaders : []),
    ],
  };
}

const toHeader = (name: string, value: Buffer): readonly [string, Buffer] => [name, value];

/** What only the product itself may write. */
const forgedHeaders = [
  toHeader("topicsync.time", Buffer.from("soon")),
  toHeader("topicsync.replay-of", Buffer.from("events-0-1")),
  toHeader("topicsync.undelivered", Buffer.from("[]")),
];
