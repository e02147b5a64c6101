import type { FromSchema } from "json-schema-to-ts";

import { channel, deadLetterChannels, deadLetterItemSchema } from "./dead-letter.ts";
import { flag, list, named, object, text } from "../shapes.ts";

const ids = {
  type: "array",
  minItems: 1,
  maxItems: 1_000,
  items: { type: "string", minLength: 1, maxLength: 300 },
  description: "The ids of the dead letters.",
} as const;

/** The body of `POST /api/topicsync/v1/dead-letters/replays`. */
export const replayBodySchema = named("replay-body", {
  ids,
  "channel?": { enum: deadLetterChannels, description: channel.description },
  "again?": flag("Also send what was replayed before."),
  "force?": flag(
    "Also send what is superseded: its topic was announced or retired later, and the replay overwrites that. Requires the right `admin`.",
  ),
  "dryRun?": flag("Return what would be sent, and send nothing."),
});

export type ReplayBody = FromSchema<typeof replayBodySchema>;

/** Why a dead letter is not sent; the schema below explains each reason. */
const skipReasons = [
  "missing",
  "omitted",
  "replayed",
  "superseded",
  "forbidden",
  "rejected",
  "interrupted",
] as const;

export type SkipReason = (typeof skipReasons)[number];

export const replayResultSchema = named("replay-result", {
  topic: text("The Kafka topic that the dead letters are sent to."),
  sent: list(text(), "The ids of the dead letters that were sent, or with `dryRun` would be."),
  skipped: list(
    object({
      id: text(),
      reason: {
        enum: skipReasons,
        description:
          "`missing`: there is no such dead letter, or its Kafka topic has deleted it. `omitted`: its value is missing. `replayed`: it was replayed before. `superseded`: its topic was announced or retired later. `forbidden`: topicsync did not write it, so that it could put anything into the channel, and sending it requires the right `admin`; or its topic is in a namespace where the caller may not replay. `rejected`: Kafka does not accept it. `interrupted`: Kafka or the database stopped responding, or the service is stopping; the replays of the dead letter say whether it was sent.",
      },
      message: text("The reason in words."),
    }),
    "The dead letters that are not sent.",
  ),
});

export type ReplayResult = FromSchema<typeof replayResultSchema>;

export type SkippedReplay = ReplayResult["skipped"][number];

/** The body of `POST /api/topicsync/v1/dead-letters/replay-outcomes`. */
export const replayOutcomesBodySchema = named("replay-outcomes-body", {
  ids,
  "channel?": { enum: deadLetterChannels, description: channel.description },
});

export type ReplayOutcomesBody = FromSchema<typeof replayOutcomesBodySchema>;

export const replayOutcomesSchema = named("replay-outcomes", {
  deadLetters: list(
    object({ id: text(), replay: deadLetterItemSchema.properties.replay }),
    "In the order of the request.",
  ),
});

export type ReplayOutcomes = FromSchema<typeof replayOutcomesSchema>;
