const text = { type: "string" } as const;
const wholeNumber = { type: "string", pattern: "^[0-9]+$" } as const;

/** The headers of a dead letter that say where the record lay and why it was refused; its own headers stand beside them. */
export const deadLetterHeadersSchema = {
  $id: "dead-letter-headers",
  type: "object",
  required: [
    "__connect.errors.topic",
    "__connect.errors.partition",
    "__connect.errors.offset",
    "__connect.errors.exception.class.name",
    "__connect.errors.exception.message",
    "topicsync.id",
    "topicsync.code",
    "topicsync.details",
    "topicsync.epoch",
  ],
  properties: {
    "__connect.errors.topic": { ...text, description: "The Kafka topic of the record." },
    "__connect.errors.partition": { ...wholeNumber, description: "Its partition." },
    "__connect.errors.offset": { ...wholeNumber, description: "Its offset." },
    "__connect.errors.exception.class.name": {
      ...text,
      pattern: "^topicsync\\.[A-Z][A-Z_]*$",
      description: "`topicsync.` and the code.",
    },
    "__connect.errors.exception.message": { ...text, description: "What is wrong, in a sentence." },
    "topicsync.id": {
      ...text,
      description:
        "Topic, partition and offset, joined by hyphens, and from the second epoch on the epoch: a letter that is sent twice has it twice.",
    },
    "topicsync.code": {
      ...text,
      pattern: "^[A-Z][A-Z_]*$",
      description: "Why it was refused; the codes are those of the HTTP errors.",
    },
    "topicsync.details": {
      ...text,
      description: "The faults, at most 20, as a JSON array of `path` (a JSON Pointer) and `message`.",
    },
    "topicsync.epoch": {
      ...wholeNumber,
      description:
        "The epoch of the partition's log: 1, and one more each time its Kafka topic was deleted and created again.",
    },
    "topicsync.omitted": {
      ...text,
      description:
        "On a letter without its value, which was too large for the broker or in a batch too large to decompress: where the bytes lie.",
    },
    "topicsync.time": {
      ...text,
      pattern: "^(-1|[0-9]+)$",
      description:
        "The record's timestamp (milliseconds since 1970), on a letter that the broker did not accept with it.",
    },
    "topicsync.keyless": {
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
