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
} as const;

const text = { type: "string" } as const;
const wholeNumber = { type: "string", pattern: "^[0-9]+$" } as const;

/** The headers of a dead letter that say where the record lay and why it was refused; its own headers stand beside them. */
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
    [deadLetterHeader.topic]: { ...text, description: "The Kafka topic of the record." },
    [deadLetterHeader.partition]: { ...wholeNumber, description: "Its partition." },
    [deadLetterHeader.offset]: { ...wholeNumber, description: "Its offset." },
    [deadLetterHeader.className]: {
      ...text,
      pattern: "^topicsync\\.[A-Z][A-Z_]*$",
      description: "`topicsync.` and the code.",
    },
    [deadLetterHeader.message]: { ...text, description: "What is wrong, in a sentence." },
    [deadLetterHeader.id]: {
      ...text,
      description:
        "Topic, partition and offset, joined by hyphens, and from the second epoch on the epoch: a letter that is sent twice has it twice.",
    },
    [deadLetterHeader.code]: {
      ...text,
      pattern: "^[A-Z][A-Z_]*$",
      description: "Why it was refused; the codes are those of the HTTP errors.",
    },
    [deadLetterHeader.details]: {
      ...text,
      description: "The faults, at most 20, as a JSON array of `path` (a JSON Pointer) and `message`.",
    },
    [deadLetterHeader.epoch]: {
      ...wholeNumber,
      description:
        "The epoch of the partition's log: 1, and one more each time its Kafka topic was deleted and created again.",
    },
    [deadLetterHeader.omitted]: {
      ...text,
      description:
        "On a letter without its value, which was too large for the broker or in a batch too large to decompress: where the bytes lie.",
    },
    [deadLetterHeader.time]: {
      ...text,
      pattern: "^(-1|[0-9]+)$",
      description:
        "The record's timestamp (milliseconds since 1970), on a letter that the broker did not accept with it.",
    },
    [deadLetterHeader.keyless]: {
      ...text,
      description:
        "`true` on a letter whose key is its id: the record had no key, or too large a one, and the dead-letter topic requires one.",
    },
  },
  additionalProperties: { type: "string", description: "The record's own headers." },
} as const;

/** The headers that every dead letter has. */
export type DeadLetterHeaders = Readonly<
  Record<(typeof deadLetterHeadersSchema)["required"][number], string>
>;
