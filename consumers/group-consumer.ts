import type { Logger } from "../src/lib/logger.ts";
import type { GroupMember, LogWatch, Partition } from "../src/sync/records.ts";
import {
  createPartitionReader,
  type PartitionReader,
  type PartitionStatus,
  type BatchHandler,
} from "./partition-reader.ts";

export interface GroupConsumerOptions<Prepared> {
  readonly member: GroupMember;
  readonly watch: LogWatch;
  /** What is done with the records of each partition that the group assigns. */
  readonly createHandler: (partition: Partition) => BatchHandler<Prepared>;
  readonly log: Logger;
  /** Called when the consumer ended and will not come back: the process has to end as well. */
  readonly died: (error: unknown) => void;
}

/** The consumer of a Kafka topic whose positions are stored with what its records make. */
export interface GroupConsumer {
  /** Resolves when the group has assigned partitions. Throws UnavailableError; it can be called again then. */
  start(): Promise<void>;
  /** "joining" until the group gave this member its partitions, which may be none. */
  status(): {
    readonly state: "joining" | "assigned" | "dead";
    readonly partitions: readonly PartitionStatus[];
  };
  /** Ends after the batch under way is written or given up before its commit. */
  stop(): Promise<void>;
}

/** Makes the consumer; nothing is read before `start`. */
export function createGroupConsumer<Prepared>(options: GroupConsumerOptions<Prepared>): GroupConsumer {
  const { member, watch, createHandler: workOf, log } = options;
  const readers = new Map<number, PartitionReader>();
  let state: "joining" | "assigned" | "dead" = "joining";

  function die(error: unknown): void {
    state = "dead";
    options.died(error);
  }

  async function closeReaders(): Promise<void> {
    const closing = [...readers.values()].map((reader) => reader.close());
    readers.clear();
    await Promise.all(closing);
  }

  return {
    async start() {
      const first = Promise.withResolvers<undefined>();
      first.promise.catch(() => undefined);
      await member.run({
        assigned(partitions) {
          // A write under way may still end well; if another member begins before it does, one of the two is fenced.
          void closeReaders();
          for (const partition of partitions) {
            const work = workOf(partition);
            readers.set(
              partition.partition,
              createPartitionReader({ partition, member, watch, work, log, failed: die }),
            );
          }
          state = "assigned";
          log.info(
            { partitions: partitions.map(({ partition }) => partition) },
            "the group assigned partitions",
          );
          first.resolve(undefined);
        },
        async batch(batch) {
          await readers.get(batch.partition.partition)?.batch(batch);
        },
        skipped({ partition }, range) {
          readers.get(partition)?.skipped(range);
        },
        died(error) {
          die(error);
          first.reject(error);
        },
      });
      await first.promise;
    },
    status: () => ({ state, partitions: [...readers.values()].map((reader) => reader.status()) }),
    async stop() {
      await closeReaders();
      await member.stop();
    },
  };
}
