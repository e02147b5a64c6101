import { getErrorMessage } from "@topicsync/lib/errors";
import type { Partition } from "@topicsync/kafka";
import type { ConsumerStatus } from "./partition-status.ts";
import type { BatchHandler, PreparedBatch } from "./batch.ts";
import { FetchWatch } from "./fetch-watch.ts";
import { PartitionReader } from "./partition-reader.ts";
import type { ReaderOptions } from "./reader-types.ts";

interface GroupConsumerOptions<Prepared extends PreparedBatch, Outcome> extends Pick<
  ReaderOptions<Prepared, Outcome>,
  "member" | "watch" | "logs" | "consumer" | "log"
> {
  /** Creates the handler of each partition that the group assigns. */
  readonly createHandler: (partition: Partition) => BatchHandler<Prepared, Outcome>;
  /** Called when the consumer has ended permanently: the process must exit. */
  readonly onDied: (error: unknown) => void;
}

/** The consumer of a Kafka topic whose positions are stored together with its data. */
export interface GroupConsumer {
  /**
   * Resolves when the group has assigned partitions. Throws UnavailableError; it can be called again then.
   */
  start(): Promise<void>;
  status(): ConsumerStatus;
  /** Resolves once the current batch is written, or abandoned before its commit. */
  stop(): Promise<void>;
}

/** Creates the consumer. Reads nothing before `start`. */
export function createGroupConsumer<Prepared extends PreparedBatch, Outcome>(
  options: GroupConsumerOptions<Prepared, Outcome>,
): GroupConsumer {
  const { createHandler, onDied, ...others } = options;
  const { member, log } = others;
  const shared = { ...others, onFailed: die };
  const readers = new Map<number, PartitionReader>();
  /** By partition: when its last reader here that was closed has written its last batch. */
  const closed = new Map<number, Promise<void>>();
  const fetches = new FetchWatch();
  let state: ConsumerStatus["state"] = "joining";

  function die(error: unknown): void {
    state = "dead";
    onDied(error);
  }

  function closeReaders(): void {
    for (const [partition, reader] of readers) closed.set(partition, reader.close());
    readers.clear();
  }

  return {
    async start() {
      const first = Promise.withResolvers<undefined>();
      first.promise.catch(() => undefined);
      await member.run({
        onAssigned(partitions) {
          // A write in progress may still succeed. If another member starts before it ends, one of the two is
          // fenced.
          closeReaders();
          for (const partition of partitions) {
            const number = partition.partition;
            readers.set(
              number,
              new PartitionReader({
                ...shared,
                partition,
                handler: createHandler(partition),
                previousClosed: closed.get(number) ?? Promise.resolve(),
                endsOnDenial: state === "joining",
              }),
            );
          }
          state = "assigned";
          fetches.note();
          log.info({ partitions: partitions.map(({ partition }) => partition) }, "partitions assigned");
          first.resolve(undefined);
        },
        onFetched() {
          fetches.note();
        },
        async onBatch(batch) {
          await fetches.handle(readers.get(batch.partition.partition)?.batch(batch));
        },
        onDenied(error) {
          log.error({ reason: getErrorMessage(error) }, "consumer paused, until the right is granted");
          for (const reader of readers.values()) reader.deny(error);
        },
        onDied(error) {
          die(error);
          first.reject(error);
        },
      });
      await first.promise;
    },
    status: () => ({
      state,
      partitions: [...readers.values()].map((reader) => fetches.describe(reader.status())),
    }),
    async stop() {
      closeReaders();
      await Promise.all(closed.values());
      await member.stop();
    },
  };
}
