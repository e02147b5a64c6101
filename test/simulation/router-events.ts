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

type RecreateEvents = Extract<EventsAction, { do: "recreate events" }>;

const maxPartitions = 3;

export class EventsTopic {
  readonly #options: EventsTopicOptions;
  #lastTimestamp = startOfTime;

  constructor(options: EventsTopicOptions) {
    this.#options = options;
  }

  list(): readonly Partition[] {
    return this.#options.cluster.topics.get(this.#options.name)?.partitions ?? [];
  }

  create(partitions: number): void {
    if (!this.#options.cluster.topics.has(this.#options.name))
      this.#options.positions.onCreated(
        this.#options.cluster.registry.create({ name: this.#options.name, partitions }),
      );
  }

  endTransactions(): void {
    for (const partition of this.list())
      this.#options.cluster.endTransaction(partition, true, (this.#lastTimestamp += 1));
  }

  act(action: EventsAction): void {
    this.#withPartition("partition" in action ? action.partition : 0, (partition) => {
      const { log } = partition;
      switch (action.do) {
        case "produce events":
          this.#produce(
            partition,
            action.events,
            action.transaction === "none" ? undefined : action.transaction,
          );
          break;
        case "end transaction":
          this.#options.cluster.endTransaction(partition, action.commit, (this.#lastTimestamp += 1));
          break;
        case "truncate":
          log.truncate(findOffset(log, action.share));
          break;
        case "set offset":
        case "reset offset":
          this.#setOffset(
            partition.partition,
            action.share === undefined ? undefined : findOffset(log, action.share),
          );
          if (action.do === "reset offset")
            this.#options.cluster.groups.get(this.#options.groupId).rebalance();
          break;
        case "expire offsets":
          this.#options.cluster.groups.deleteTopicOffsets(this.#options.name);
          this.#options.positions.onExpired(this.#options.clock.getTime());
          if (action.rebalances) this.#options.cluster.groups.get(this.#options.groupId).rebalance();
          break;
        case "move events leader":
          this.#options.cluster.moveLeader(this.#options.name, partition.partition, action.to);
          break;
        case "grow events":
          if (this.list().length < maxPartitions)
            this.#options.cluster.registry.grow(this.#options.name, this.list().length + 1);
          break;
        case "cut events":
          if (!this.#options.hasTopicIds) break;
          this.#options.cluster.cut(partition, findOffset(log, action.share));
          this.#options.positions.onCut(partition.partition, log);
          break;
        case "recreate events":
          if (this.#options.hasTopicIds) this.#recreate(action);
          break;
        case "old bounds":
          if (this.#options.hasTopicIds) this.#options.cluster.showOldBounds();
          break;
      }
    });
  }

  /** Sends the last events to each partition; only some of them with `isSent`, by partition and value. */
  finish(isSent: (partition: number, value: Buffer) => boolean = () => true): void {
    this.endTransactions();
    for (const partition of this.list()) {
      const sent = lastEvents.filter((event) => isSent(partition.partition, toValue(event)));
      if (sent.length > 0) this.#produce(partition, sent);
    }
  }

  isMovedByHand() {
    return this.#options.positions.isMovedByHand;
  }

  /** Where the group has not reached the end; only of some partitions with `isMeant`. */
  listBehind(isMeant: (partition: number) => boolean = () => true): readonly string[] {
    return this.list()
      .filter(({ partition, log }) => isMeant(partition) && this.#options.positions.isBehind(partition, log))
      .map(
        ({ partition, log }) =>
          `partition ${partition} is at ${this.#options.positions.describe(partition)}, and log ${log.id} ends at ${log.end}`,
      );
  }

  /** Does something with a partition, unless the topic is deleted. */
  #withPartition(number: number, use: (partition: Partition) => void): void {
    const partitions = this.list();
    const partition = partitions[number % Math.max(1, partitions.length)];
    if (partition !== undefined) use(partition);
  }

  #recreate({ partitions, ms, keepsOffsets = false }: RecreateEvents): void {
    if (keepsOffsets && !this.#options.positions.mayBeSetByHand)
      this.#options.cluster.registry.delete(this.#options.name);
    else {
      this.#options.cluster.deleteTopic(this.#options.name);
      this.#options.positions.onDeleted(this.#options.clock.getTime());
    }
    this.#options.clock.schedule(this.#options.host, ms, () => {
      this.create(partitions);
    });
  }

  #setOffset(partition: number, offset: number | undefined): void {
    this.#options.cluster.setOffset(
      this.#options.groupId,
      this.#options.name,
      partition,
      offset === undefined ? undefined : { offset, metadata: "" },
    );
    this.#options.positions.onSet(partition, offset, this.#options.clock.getTime());
  }

  #produce(
    partition: Partition,
    events: readonly SentEvent[],
    transaction?: "commit" | "abort" | "leave open",
  ): void {
    this.#options.cluster.produce(
      partition,
      events.map((event) => {
        this.#lastTimestamp = Math.max(
          this.#lastTimestamp + 1,
          startOfTime + Math.floor(this.#options.clock.getTime()),
        );
        return toRecord(
          event,
          this.#options.hasOddTimestamps ? this.#lastTimestamp + event.skewMs : this.#lastTimestamp,
        );
      }),
      transaction,
    );
  }
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
