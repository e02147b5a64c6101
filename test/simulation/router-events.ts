/**
 * The events topic of the router's world: what producers send, and what happens to its logs and to the
 * offsets of its group.
 */
import { toKey, type Host, type NewRecord } from "../simulated-servers/index.ts";
import { findOffset, InputTopic, type InputTopicOptions } from "./input-topic.ts";
import type { RouterPositions } from "./router-positions.ts";
import type { EventsAction, SentEvent } from "./router-actions.ts";

export interface EventsTopicOptions extends InputTopicOptions {
  /** What creates the topic. */
  readonly host: Host;
  readonly groupId: string;
  readonly positions: RouterPositions;
}

type RecreateEvents = Extract<EventsAction, { do: "recreate events" }>;

const maxPartitions = 3;

/**
 * Without topic ids, a log that seems to end before the position is read again, and other new ones are not
 * noticed.
 */
export class EventsTopic extends InputTopic {
  readonly #options: EventsTopicOptions;

  constructor(options: EventsTopicOptions) {
    super(options);
    this.#options = options;
  }

  create(partitions: number): void {
    const { cluster, name, positions } = this.#options;
    if (!cluster.topics.has(name))
      positions.onCreated(cluster.registry.create({ name, partitions }), cluster.clusterId);
  }

  act(action: EventsAction): void {
    const found = this.find("partition" in action ? action.partition : 0);
    if (found === undefined) return;
    const { cluster, clock, name, hasTopicIds, positions } = this.#options;
    const { partition, log } = found;
    switch (action.do) {
      case "produce events":
        this.produce(found, action.events, { toRecord, sentIn: action.transaction });
        break;
      case "set offset":
      case "reset offset":
        this.#setOffset(partition, action.share === undefined ? undefined : findOffset(log, action.share));
        if (action.do === "reset offset") this.#rebalance();
        break;
      case "expire offsets":
        cluster.deleteOffsets(name);
        positions.onExpired(clock.getTime());
        if (action.rebalances) this.#rebalance();
        break;
      case "move events leader":
        cluster.moveLeader(name, partition, action.to);
        break;
      case "lose events leader":
        cluster.registry.loseLeader(found, action.ms);
        break;
      case "grow events":
        if (this.list().length < maxPartitions) cluster.registry.grow(name, this.list().length + 1);
        break;
      case "cut events":
        if (!hasTopicIds) break;
        cluster.cut(found, findOffset(log, action.share));
        positions.onCut(partition, log);
        break;
      case "recreate events":
        if (hasTopicIds) this.#recreate(action);
        break;
      case "move house":
        if (hasTopicIds) this.#moveHouse(action);
        break;
      default:
        this.change(found, action);
    }
  }

  /** Sends the last events to each partition; only some of them with `isSent`, by partition and value. */
  finish(isSent: (partition: number, value: Buffer) => boolean = () => true): void {
    this.endTransactions();
    for (const found of this.list()) {
      const sent = lastEvents.filter((event) => isSent(found.partition, toValue(event)));
      if (sent.length > 0) this.produce(found, sent, { toRecord, sentIn: "none" });
    }
  }

  /** Takes the leader of a partition until leaders are given again, and returns its number. */
  takeLeader(index: number): number | undefined {
    const found = this.find(index);
    if (found !== undefined) this.#options.cluster.registry.moveLeader(found, -1);
    return found?.partition;
  }

  isMovedByHand(): boolean {
    return this.#options.positions.isMovedByHand;
  }

  /** Where the group has not reached the end; only of some partitions with `isMeant`. */
  listBehind(isMeant: (partition: number) => boolean = () => true): readonly string[] {
    const { positions } = this.#options;
    return this.list()
      .filter(({ partition, log }) => isMeant(partition) && positions.isBehind(partition, log))
      .map(
        ({ partition, log }) =>
          `partition ${partition} is at ${positions.describe(partition)}, and log ${log.id} ends at ${log.end}`,
      );
  }

  #recreate({ partitions, ms, keepsOffsets = false }: RecreateEvents): void {
    const { cluster, clock, host, name, positions } = this.#options;
    if (keepsOffsets && !positions.mayBeSetByHand) cluster.registry.delete(name);
    else {
      cluster.deleteTopic(name);
      positions.onDeleted(clock.getTime());
    }
    clock.schedule(host, ms, () => {
      this.create(partitions);
    });
  }

  /** Whoever sees a partition that waits in another cluster has it read that from the beginning. */
  decide(): void {
    const { cluster, groupId, name, positions } = this.#options;
    if (!positions.hasMoved) return;
    for (const { partition, log } of this.list()) {
      const { metadata } = cluster.groups.getOffsets(groupId).get(toKey(name, partition)) ?? {};
      // An offset without metadata was set by hand.
      const isElsewhere =
        metadata === undefined ||
        (metadata !== "" && !metadata.includes(`"clusterId":"${cluster.clusterId}"`));
      if (log.end > 0 && isElsewhere) this.#setOffset(partition, log.low);
    }
  }

  #moveHouse({ ms, share }: Extract<EventsAction, { do: "move house" }>): void {
    const { cluster, clock, host, name, positions } = this.#options;
    const former = this.list();
    cluster.deleteTopic(name);
    positions.onDeleted(clock.getTime());
    clock.schedule(host, ms, () => {
      if (cluster.topics.has(name)) return;
      cluster.clusterId = `${cluster.clusterId}'`;
      this.create(former.length);
      for (const partition of this.list()) {
        const records = former[partition.partition]?.log.readAll() ?? [];
        const mirrored = records.slice(Math.floor(records.length * share * 0.5));
        if (mirrored.length > 0) cluster.produce(partition, mirrored);
      }
      positions.onMoved();
    });
  }

  #setOffset(partition: number, offset: number | undefined): void {
    const { cluster, clock, groupId, name, positions } = this.#options;
    cluster.setOffset(groupId, name, partition, offset === undefined ? undefined : { offset, metadata: "" });
    positions.onSet(partition, offset, clock.getTime());
  }

  #rebalance(): void {
    this.#options.cluster.groups.get(this.#options.groupId).rebalance();
  }
}

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
