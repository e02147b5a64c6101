import type { Partition } from "@topicsync/kafka";
import type { Announcement } from "../../src/topics/announcement.ts";
import type { Decision } from "../../src/topics/decide.ts";
import type { TopicService } from "../../src/topics/service.ts";
import { createBatchHandler, type BatchOutputs, type DecodedBatch } from "../batch-handler.ts";
import type { BatchHandler } from "../batch.ts";
import { decode } from "./decode.ts";

interface AnnouncementOptions extends BatchOutputs<Decision> {
  readonly topics: Pick<TopicService, "decide" | "decideAhead">;
}

export type AnnouncementBatch = DecodedBatch<Announcement, Decision>;

/** A batch may conflict with concurrent changes several times, but not forever. */
const maxAttempts = 10;

/** Creates the handler of one partition of the announcements topic. Most batches are decided ahead. */
export const createAnnouncementHandler = (
  partition: Partition,
  { topics, ...outputs }: AnnouncementOptions,
): BatchHandler<AnnouncementBatch, Decision> =>
  createBatchHandler(
    partition,
    {
      maxAttempts,
      decode,
      decideAhead: (announcements, epoch) => topics.decideAhead({ partition, epoch, announcements }),
      decide: (announcements, epoch, conflicts) =>
        topics.decide({ partition, epoch, announcements }, conflicts),
    },
    outputs,
  );
