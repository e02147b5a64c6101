import type { Logger } from "../src/logger.ts";
import type { GroupMember, LogRecord, LogWatch, RecordSink } from "../src/records.ts";
import type { AppliedBatch } from "../src/sync/tally.ts";
import type { Announcement } from "../src/topics/announcement.ts";
import type { PositionKey, TopicStore } from "../src/topics/ports.ts";
import type { TopicService } from "../src/topics/service.ts";
import type { Partition } from "../src/topics/topic.ts";
import { sendDeadLetters } from "./dead-letters.ts";
import { decode } from "./decode.ts";
import {
  createPartitionReader,
  type PartitionReader,
  type PartitionStatus,
  type PartitionWork,
} from "./partition-reader.ts";

export interface ConsumerOptions {
  readonly groupId: string;
  readonly member: GroupMember;
  readonly watch: LogWatch;
  readonly topics: TopicService;
  readonly positions: Pick<TopicStore, "claim">;
  readonly deadLetters: RecordSink;
  /** Told of each batch once it is stored. */
  readonly applied: (batch: AppliedBatch) => void;
  readonly log: Logger;
  /** Called when the consumer ended and will not come back: the process has to end as well. */
  readonly died: (error: unknown) => void;
}

/** The consumer of the announcements topic. */
export interface AnnouncementsConsumer {
  /** Resolves when the group has assigned partitions. Throws Unavailable; it can be called again then. */
  start(): Promise<void>;
  /** "joining" until the group gave this member its partitions, which may be none. */
  status(): {
    readonly state: "joining" | "assigned" | "dead";
    readonly partitions: readonly PartitionStatus[];
  };
  /** Ends after the batch under way is written or given up before its commit. */
  stop(): Promise<void>;
}

interface Prepared {
  readonly records: readonly LogRecord[];
  readonly announcements: readonly Announcement[];
}

/** Makes the consumer; nothing is read before `start`. */
export function createAnnouncementsConsumer(options: ConsumerOptions): AnnouncementsConsumer {
  const { member, watch, log } = options;
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
            const work = announcementWork(partition, options);
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

/** decode → validate → decide → write → dead letters → commit, for one partition. */
function announcementWork(partition: Partition, options: ConsumerOptions): PartitionWork<Prepared> {
  const { groupId, topics, positions, deadLetters, log } = options;
  const key: PositionKey = { group: groupId, ...partition };

  return {
    claim: () => positions.claim(key),
    prepare: (records) => ({ records, announcements: records.map(decode) }),
    async write({ records, announcements }, { from, to }) {
      const byOffset = new Map(records.map((record) => [record.offset, record]));
      const began = performance.now();
      const { counts, refusals } = await topics.apply({
        key,
        from,
        to,
        announcements,
        async deadLetter(refusals) {
          const letters = refusals.flatMap(({ offset, refusal }) => {
            const record = byOffset.get(offset);
            return record === undefined ? [] : [{ partition, record, refusal }];
          });
          await sendDeadLetters(deadLetters, letters);
        },
      });
      options.applied({
        counts,
        refused: refusals.map(({ refusal }) => refusal.code),
        announcedOn: records.map(({ timestamp }) => Number(timestamp)),
        storedOn: Date.now(),
        tookMs: performance.now() - began,
      });
      log.debug(
        { partition: partition.partition, ...counts, nextOffset: to.offset },
        "applied announcements",
      );
    },
  };
}
