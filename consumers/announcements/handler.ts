import type { Logger } from "../../src/lib/logger.ts";
import type { PositionKey, PositionStore } from "../../src/sync/positions.ts";
import type { LogRecord, RecordProducer, Partition } from "../../src/sync/records.ts";
import type { AppliedBatch } from "../../src/sync/tally.ts";
import type { Announcement } from "../../src/topics/announcement.ts";
import type { Decision } from "../../src/topics/decide.ts";
import type { TopicService } from "../../src/topics/service.ts";
import type { Tracing } from "../../src/tracing/tracing.ts";
import { traceBatch, type BatchTrace } from "../batch-trace.ts";
import { sendRefused } from "../dead-letter-sender.ts";
import { decode } from "./decode.ts";
import type { BatchHandler } from "../partition-reader.ts";

export interface AnnouncementOptions {
  readonly groupId: string;
  readonly topics: TopicService;
  readonly positions: Pick<PositionStore, "claim">;
  readonly deadLetters: RecordProducer;
  /** Told of each batch once it is stored. */
  readonly applied: (batch: AppliedBatch) => void;
  readonly tracing: Tracing | undefined;
  readonly log: Logger;
}

interface Prepared {
  readonly records: readonly LogRecord[];
  readonly announcements: readonly Announcement[];
  readonly trace: BatchTrace | undefined;
  /** What was decided last; undefined before `write`. */
  decision?: Decision;
}

/** decode → validate → decide → write → dead letters → commit, for one partition of the announcements topic. */
export function createAnnouncementHandler(
  partition: Partition,
  options: AnnouncementOptions,
): BatchHandler<Prepared> {
  const { groupId, topics, positions, deadLetters, tracing, log } = options;
  const key: PositionKey = { group: groupId, ...partition };

  function report({ records }: Prepared, { counts, refusals }: Decision, tookMs: number): void {
    options.applied({
      counts,
      refused: refusals.map(({ refusal }) => refusal.code),
      announcedOn: records.map(({ timestamp }) => Number(timestamp)),
      storedOn: Date.now(),
      tookMs,
    });
    log.debug({ partition: partition.partition, ...counts }, "applied announcements");
  }

  return {
    claim: () => positions.claim(key),
    prepare(records) {
      const trace = traceBatch(tracing, { partition, groupId, records });
      trace?.entered("decode");
      const announcements = records.map(decode);
      trace?.waits();
      return { records, announcements, trace };
    },
    async write(prepared, { from, to }) {
      const { records, announcements, trace } = prepared;
      const began = performance.now();
      const apply = () =>
        topics.apply({
          key,
          from,
          to,
          announcements,
          decided: (decision) => (prepared.decision = decision),
          deadLetter: (refused) => sendRefused(deadLetters, { partition, epoch: to.epoch, records, refused }),
          entered: trace?.entered,
        });
      const decision = await (trace === undefined ? apply() : trace.through(apply));
      report(prepared, decision, performance.now() - began);
    },
    confirm(prepared) {
      const { decision } = prepared;
      if (decision === undefined) return;
      topics.confirm(decision);
      report(prepared, decision, 0);
    },
  };
}
