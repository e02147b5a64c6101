import { applicationOperations, platformOperations } from "./catalog.ts";
import { backfillOperations } from "./backfills.ts";
import { deadLetterOperations } from "./dead-letters.ts";
import { eventTypeOperations } from "./event-types.ts";
import { sendEvents } from "./events/sending.ts";
import { getEvent, listEvents } from "./events/events.ts";
import type { Operation } from "./framework/operation.ts";
import { impactOperations } from "./impact.ts";
import { installationOperations } from "./installations.ts";
import { keyOperations } from "./keys.ts";
import { pickOperations } from "./pick.ts";
import { statusOperations } from "./status.ts";
import { topicChangeOperations } from "./topic-changes.ts";
import { topicDetailsOperations } from "./topic-details.ts";
import { topicRelationOperations } from "./topic-relations.ts";
import { topicSetOperations } from "./topic-sets.ts";
import { topicUsageOperations } from "./topic-usage.ts";
import { topicHistoryOperations } from "./topic-versions.ts";
import { topicOperations } from "./topics.ts";
import { userOperations } from "./users.ts";

/** Everything that a program or a person can ask of the service, the most frequent first. */
export const operations: readonly Operation[] = [
  ...installationOperations,
  ...topicOperations,
  ...topicHistoryOperations,
  ...topicChangeOperations,
  ...topicDetailsOperations,
  ...topicSetOperations,
  ...topicUsageOperations,
  ...topicRelationOperations,
  ...backfillOperations,
  ...pickOperations,
  ...impactOperations,
  ...statusOperations,
  ...eventTypeOperations,
  ...[listEvents, getEvent, sendEvents],
  ...deadLetterOperations,
  ...userOperations,
  ...keyOperations,
  ...applicationOperations,
  ...platformOperations,
];
