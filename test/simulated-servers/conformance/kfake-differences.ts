/**
 * Where kfake answers otherwise than Apache Kafka. A row is removed when kfake agrees: the test fails for
 * rows without a difference, too.
 */
import { isDeepStrictEqual } from "node:util";

/** Scenes that are not played on kfake, and why. */
export const notOnKfake: Readonly<Record<string, string>> = {
  "offsets that Kafka's tool sets and deletes, and that expire":
    "Kafka's tool cannot read kfake's DescribeTopicPartitions, and offsets do not expire",
  "offsets that change while a transaction moves them":
    "Kafka's tool cannot read kfake's DescribeTopicPartitions",
  "a transaction that begins while the last one is completed":
    "kfake completes a transaction before it answers",
  "a transaction that outlives its timeout":
    "waits for the offset of a group that has none, which kfake does not know",
  "a topic that is deleted during a transaction, while the leader does not hear of it":
    "kfake's brokers share what they know",
};

const withoutOffsets = "OffsetFetch does not know a group without offsets";
const unknownGroup = "GROUP_ID_NOT_FOUND to members of an unknown group";
const noMetadata = "the metadata of a missing offset is null";
const names = "names of topics are not checked";
const fencedCode = "PRODUCER_FENCED also in versions of requests that are older than this error";

/**
 * By scene and place in its result: what kfake does there. `*` stands for any member, and a place includes
 * what is below it.
 */
export const kfakeDiffers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "records that a topic rejects": {
    largerThanSegment: "batches may be larger than a segment",
    withoutKey: "compacted topics accept records without a key",
    "withKey.baseOffset": "the record without a key is in the log",
    old: "message.timestamp.before.max.ms has no effect",
  },
  "topics that cannot be created": {
    empty: names,
    dot: names,
    invalid: names,
    long: names,
    described: "topics with invalid names exist",
    negative: "a negative number of partitions is the default",
    noReplicas: "a replication factor of 0 is accepted",
    unknownSetting: "names of settings are not checked",
  },
  "a member from joining to leaving": {
    "ended.5": "ILLEGAL_GENERATION to the commit of a member that left",
  },
  "offsets that a tool sets and deletes": {
    "unset.0": withoutOffsets,
    "unset.1": withoutOffsets,
    "unset.4": unknownGroup,
    "unset.5": unknownGroup,
    "unset.6": unknownGroup,
    "deleted.1": withoutOffsets,
    "replaced.found.2": noMetadata,
  },
  "a transaction request by request, and again after its end": {
    "early.1": "a transaction that has not begun can be aborted",
  },
  "identities that are not those of the producer": {
    steps: "a new owner of an open transaction is one epoch further, not two",
    "wrong.former": fencedCode,
    "wrong.later": fencedCode,
    "wrong.*.3": "Produce checks whether a transaction has begun before it checks who sends",
    "wrong.unknown": "a producer is known by its id alone",
  },
  "offsets that a transaction commits": {
    "states.0": withoutOffsets,
    "states.1": withoutOffsets,
    "states.*.1.found.2": noMetadata,
  },
};

interface Difference {
  readonly path: readonly string[];
  readonly kfake: unknown;
  readonly kafka: unknown;
}

/** Offsets in responses with an error, of which the protocol says nothing. */
const meaningless: ReadonlySet<string> = new Set(["bounds", "baseOffset"]);

function readMembers(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const members = new Map<string, unknown>(Object.entries(value));
  if ((members.get("error") ?? "none") !== "none") for (const name of meaningless) members.delete(name);
  return members;
}

function* listDifferences({ path, kfake, kafka }: Difference): Generator<Difference> {
  if (isDeepStrictEqual(kfake, kafka)) return;
  const [one, other] = [readMembers(kfake), readMembers(kafka)];
  if (one === undefined || other === undefined) yield { path, kfake, kafka };
  else
    for (const name of new Set([...one.keys(), ...other.keys()]))
      yield* listDifferences({ path: [...path, name], kfake: one.get(name), kafka: other.get(name) });
}

const isAt = (place: string, { path }: Difference): boolean =>
  place.split(".").every((name, at) => (name === "*" ? at < path.length : name === path[at]));

/** Differences that are not in the table, and places in the table without a difference. */
export function compareWithTable(scene: string, kfake: unknown, kafka: unknown) {
  const found = [...listDifferences({ path: [], kfake, kafka })];
  const places = Object.keys(kfakeDiffers[scene] ?? {});
  return {
    unexpected: found
      .filter((one) => !places.some((place) => isAt(place, one)))
      .map(({ path, ...values }) => ({ place: path.join("."), ...values })),
    outdated: places.filter((place) => !found.some((one) => isAt(place, one))),
  };
}
