import { text } from "../shapes.ts";

/** The headers that Kafka Connect gives a dead letter, and our own. */
export const deadLetterHeader = {
  topic: "__connect.errors.topic",
  partition: "__connect.errors.partition",
  offset: "__connect.errors.offset",
  className: "__connect.errors.exception.class.name",
  message: "__connect.errors.exception.message",
  id: "topicsync.id",
  code: "topicsync.code",
  details: "topicsync.details",
  epoch: "topicsync.epoch",
  omitted: "topicsync.omitted",
  time: "topicsync.time",
  keyless: "topicsync.keyless",
  /** On a replayed record: the id of the dead letter. Replays also carry `topicsync.time`. */
  replayOf: "topicsync.replay-of",
  /** On a dead letter, and on a replayed event: that topicsync has sent it. */
  proof: "topicsync.proof",
} as const;

const wholeNumber = { type: "string", pattern: "^[0-9]+$" } as const;

/** The headers that a dead letter has besides those of the rejected record. */
export const deadLetterHeadersSchema = {
  $id: "dead-letter-headers",
  type: "object",
  required: [
    deadLetterHeader.topic,
    deadLetterHeader.partition,
    deadLetterHeader.offset,
    deadLetterHeader.className,
    deadLetterHeader.message,
    deadLetterHeader.id,
    deadLetterHeader.code,
    deadLetterHeader.details,
    deadLetterHeader.epoch,
  ],
  properties: {
    [deadLetterHeader.topic]: text("The Kafka topic of the record."),
    [deadLetterHeader.partition]: { ...wholeNumber, description: "Its partition." },
    [deadLetterHeader.offset]: { ...wholeNumber, description: "Its offset." },
    [deadLetterHeader.className]: {
      ...text(),
      pattern: "^topicsync\\.[A-Z][A-Z_]*$",
      description: "`topicsync.` and the code.",
    },
    [deadLetterHeader.message]: text("What is wrong, as a sentence."),
    [deadLetterHeader.id]: text(
      "Topic, partition and offset, joined by hyphens, and the epoch from the second one on. A dead letter that is sent twice has the same id.",
    ),
    [deadLetterHeader.code]: {
      ...text(),
      pattern: "^[A-Z][A-Z_]*$",
      description: "Why the record was rejected: a code of the HTTP errors.",
    },
    [deadLetterHeader.details]: text(
      "The faults, at most 20, as a JSON array of `path` (a JSON Pointer) and `message`.",
    ),
    [deadLetterHeader.epoch]: {
      ...wholeNumber,
      description:
        "The epoch of the partition: 1, and one more each time its Kafka topic was deleted and created again.",
    },
    [deadLetterHeader.omitted]: text(
      "The position of the original record, if its value was too large or in a batch that was not read.",
    ),
    [deadLetterHeader.time]: {
      ...text(),
      pattern: "^(-1|[0-9]+)$",
      description:
        "The timestamp of the record (milliseconds since 1970), if the broker did not accept a dead letter with this timestamp.",
    },
    [deadLetterHeader.proof]: text("Proves to topicsync that it has written the dead letter itself."),
    [deadLetterHeader.keyless]: text(
      "`true` if the key is the id of the dead letter: the record had no key, or one that is too large, and the topic requires keys.",
    ),
  },
  additionalProperties: text("The headers of the record."),
} as const;

/** The headers that every dead letter has. */
export type DeadLetterHeaders = Readonly<
  Record<(typeof deadLetterHeadersSchema)["required"][number], string>
>;
