import type { Logger } from "../src/logger.ts";
import type { PositionKey, PositionStore } from "../src/positions.ts";
import type { LogRecord, RecordSink } from "../src/records.ts";
import type { AppliedBatch } from "../src/sync/tally.ts";
import type { Announcement } from "../src/topics/announcement.ts";
import type { TopicService } from "../src/topics/service.ts";
import type { Partition } from "../src/topics/topic.ts";
import { sendRefused } from "./dead-letters.ts";
import { decode } from "./decode.ts";
import type { PartitionWork } from "./partition-reader.ts";

export interface AnnouncementOptions {
  readonly groupId: string;
  readonly topics: TopicService;
  readonly positions: Pick<PositionStore, "claim">;
  readonly deadLetters: RecordSink;
  /** Told of each batch once it is stored. */
  readonly applied: (batch: AppliedBatch) => void;
  readonly log: Logger;
}

interface Prepared {
  readonly records: readonly LogRecord[];
  readonly announcements: readonly Announcement[];
}

/** decode → validate → decide → write → dead letters → commit, for one partition of the announcements topic. */
export function announcementWork(
  partition: Partition,
  options: AnnouncementOptions,
): PartitionWork<Prepared> {
  const { groupId, topics, positions, deadLetters, log } = options;
  const key: PositionKey = { group: groupId, ...partition };

  return {
    claim: () => positions.claim(key),
    prepare: (records) => ({ records, announcements: records.map(decode) }),
    async write({ records, announcements }, { from, to }) {
      const began = performance.now();
      const { counts, refusals } = await topics.apply({
        key,
        from,
        to,
        announcements,
        deadLetter: (refused) => sendRefused(deadLetters, { partition, records, refused }),
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
