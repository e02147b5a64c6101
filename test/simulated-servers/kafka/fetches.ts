/** What brokers answer to fetches: by name, or by topic id. */
import type { Cancel } from "@topicsync/lib/platform";
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Response } from "../wire/messages.ts";
import type { Bounds } from "./copies.ts";
import { codes } from "./errors.ts";
import type { ReadBatches } from "./log.ts";
import type { Found, Lookups } from "./lookups.ts";
import { mapPartitions, toKey, type Handlers, type RequestContext } from "./requests.ts";
import type { BrokerNode, Partition } from "./topics.ts";

/** What a consumer was sent. */
export interface Delivery {
  readonly process: Host;
  readonly partition: Partition;
  readonly from: number;
  readonly read: ReadBatches;
}

export interface FetchOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly getNode: (nodeId: number) => BrokerNode;
  readonly lookups: Lookups;
  readonly maxBatchesPerFetch: number;
  readonly onDelivered: (delivery: Delivery) => void;
}

interface FetchedFrom {
  readonly partition: Partition;
  readonly from: number;
  readonly read: ReadBatches;
}

interface FetchResult {
  readonly error: number;
  readonly bounds: Bounds;
  readonly fetched: FetchedFrom | undefined;
}

export const readCommitted = 1;
const noBounds: Bounds = { low: -1, end: -1, stable: -1 };

/** Handles fetches; some wait for records. */
export class Fetches {
  readonly #options: FetchOptions;
  #waiting: (() => void)[] = [];
  readonly handlers: Handlers<"fetch11" | "fetch13"> = {
    fetch11: (body, respond, context) => {
      this.#fetch({ body, asked: body.topics, context }, this.#options.lookups.findFetched, (toPartition) => {
        respond({ throttle: 0, error: 0, sessionId: 0, topics: mapPartitions(body.topics, toPartition) });
      });
    },
    fetch13: (body, respond, context) => {
      const asked = body.topics.map(({ topicId, partitions }) => ({ topic: topicId, partitions }));
      this.#fetch({ body, asked, context }, this.#options.lookups.findById, (toPartition) => {
        const topics = body.topics.map(({ topicId, partitions }) => ({
          topicId,
          partitions: partitions.map((one) => toPartition(topicId, one)),
        }));
        respond({ throttle: 0, error: 0, sessionId: 0, topics });
      });
    },
  };

  constructor(options: FetchOptions) {
    this.#options = options;
  }

  /** Answers fetches that wait for what is there now. */
  notify(): void {
    for (const check of this.#waiting) check();
  }

  #read(
    { error, partition, bounds, copy }: Found,
    isolationLevel: number,
    { fetchOffset: from, maxBytes }: { readonly fetchOffset: number; readonly maxBytes: number },
  ): FetchResult {
    if (partition === undefined) return { error, bounds: noBounds, fetched: undefined };
    const { low, end, stable } = bounds;
    if (from < low || (copy?.lacks(from) ?? from > end))
      return { error: codes.offsetOutOfRange, bounds: noBounds, fetched: undefined };
    const maxBatches = this.#options.random.between(1, this.#options.maxBatchesPerFetch + 1);
    const until = isolationLevel === readCommitted ? stable : end;
    const batches = partition.log.read(from, { until, maxBytes, maxBatches });
    // Other responses list no aborted transactions.
    const aborted = isolationLevel === readCommitted ? batches.aborted : [];
    const fetched = { partition, from, read: { ...batches, aborted } };
    return { error: codes.none, bounds, fetched };
  }

  /** Answers once there is something to answer, or the time is over. */
  #park(
    { maxWaitMs, minBytes }: { readonly maxWaitMs: number; readonly minBytes: number },
    host: Host,
    readAll: () => readonly FetchResult[],
    answer: (results: readonly FetchResult[]) => void,
  ): void {
    const isDue = (results: readonly FetchResult[]): boolean =>
      results.some(({ error, fetched }) => error !== codes.none || (fetched?.read.bytes.length ?? 0) > 0);
    const first = readAll();
    if (maxWaitMs === 0 || minBytes === 0 || isDue(first)) {
      answer(first);
      return;
    }
    let cancel: Cancel = () => undefined;
    const end = (results: readonly FetchResult[]): void => {
      this.#waiting = this.#waiting.filter((one) => one !== check);
      cancel();
      answer(results);
    };
    const check = (): void => {
      const results = readAll();
      if (isDue(results)) end(results);
    };
    cancel = this.#options.clock.schedule(host, maxWaitMs, () => {
      end(readAll());
    });
    this.#waiting.push(check);
  }

  #fetch<P extends { readonly partition: number; readonly fetchOffset: number; readonly maxBytes: number }>(
    { body, asked, context }: FetchRequest<P>,
    find: (node: BrokerNode, topic: string, partition: number) => Found,
    answer: (toPartition: (topic: string, partition: P) => FetchedPartition) => void,
  ): void {
    const node = this.#options.getNode(context.brokerId);
    const places = asked.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ key: toKey(topic, partition.partition), topic, partition })),
    );
    const readAll = (): readonly FetchResult[] =>
      places.map(({ topic, partition }) =>
        this.#read(find(node, topic, partition.partition), body.isolationLevel, partition),
      );
    this.#park(body, node.host, readAll, (results) => {
      for (const { fetched } of results)
        if (fetched !== undefined && fetched.read.end > fetched.from)
          this.#options.onDelivered({ process: context.client, ...fetched });
      const byKey = new Map(places.map(({ key }, index) => [key, results[index]]));
      answer((topic, { partition }) => toFetched(partition, byKey.get(toKey(topic, partition))));
    });
  }
}

interface FetchRequest<P> {
  readonly body: { readonly isolationLevel: number; readonly maxWaitMs: number; readonly minBytes: number };
  readonly asked: readonly { readonly topic: string; readonly partitions: readonly P[] }[];
  readonly context: RequestContext;
}

type FetchedPartition = Response<"fetch11">["topics"][number]["partitions"][number];

const toFetched = (
  partition: number,
  { error, bounds, fetched }: FetchResult = {
    error: codes.unknownTopicOrPartition,
    bounds: noBounds,
    fetched: undefined,
  },
): FetchedPartition => ({
  partition,
  error,
  highWatermark: bounds.end,
  lastStableOffset: bounds.stable,
  logStartOffset: bounds.low,
  aborted: fetched?.read.aborted ?? [],
  preferredReadReplica: -1,
  records: fetched?.read.bytes ?? Buffer.alloc(0),
});
