/**
 * What is stored or sent is read as it was: every pair of conversions, with every optional member set, with
 * none, and with any. A member that is new in a type does not compile until it is generated here.
 */
import { toOffsets, toPosition } from "@topicsync/kafka/internals";
import { RejectionError } from "@topicsync/lib/errors";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { BSON } from "mongodb";
import { sendDeadLetters } from "../../consumers/dead-letter-sender.ts";
import { parseDeadLetter } from "../../src/dead-letters/dead-letter.ts";
import { fromInstallationView, toInstallationView } from "../../src/installations/installation.ts";
import { addCopy, fromDeadLetterRecord } from "../../src/storage/dead-letters.ts";
import { fromInstallationRecord, toInstallationRecord } from "../../src/storage/installations/records.ts";
import { fromKeyRecord, toKeyRecord } from "../../src/storage/keys.ts";
import { fromRecord, toFields, toId } from "../../src/storage/position-records.ts";
import { fromReplayRecord, toReplayRecord } from "../../src/storage/replays.ts";
import { fromSessionRecord, toSessionRecord } from "../../src/storage/sessions.ts";
import { fromDescriptionRecord, toDescriptionRecord } from "../../src/storage/topics/descriptions.ts";
import { fromDetailsRecord, toDetailsRecord } from "../../src/storage/topics/details-records.ts";
import {
  fromRetiredRecord,
  fromTopicRecord,
  toRetiredId,
  toRetiredRecord,
  toTopicRecord,
} from "../../src/storage/topics/records.ts";
import { addApply, fromSetRecord } from "../../src/storage/topics/sets.ts";
import { fromVersionRecord, toVersionRecord } from "../../src/storage/topics/versions.ts";
import { toStoredUser, toUserRecord } from "../../src/storage/users.ts";
import { getDefinition, toPlannedState } from "../../src/plans/plan.ts";
import { toDetails } from "../../src/topics/details/details.ts";
import type { Topic } from "../../src/topics/topic.ts";
import { presences, type Maybe } from "../support/generated.ts";
import {
  deadLetter,
  installation,
  key,
  letter,
  plannedTopic,
  position,
  replacedDetails,
  replacedVersion,
  replay,
  retired,
  session,
  storedDetails,
  topic,
  topicSet,
  type Create,
  type Letter,
  user,
} from "../support/generated-entities.ts";

/** Sends a dead letter, and parses what was sent. */
async function passLetter({ from, code, details, ...one }: Letter): Promise<unknown> {
  const toBytes = (given: string | undefined) => (given === undefined ? null : Buffer.from(given));
  const { topic: name, partition, offset, epoch = 1 } = from;
  const record = { offset, timestamp: String(one.time.getTime()), headers: [["own", "1"]] as const };
  let parsed: unknown;
  await sendDeadLetters(
    {
      send([sent]) {
        const arrived = { timestamp: "0", key: null, value: null, headers: [], ...sent, offset: 7 };
        const found = parseDeadLetter(
          "letters",
          { partition: 3, record: arrived as never },
          { identify: () => undefined, proofKey: "any" },
        );
        parsed = {
          ...{ from: found.source, code: found.code, message: found.message, details: found.details },
          ...{ time: found.time, key: found.key?.toString(), value: found.value?.toString() },
          undelivered: found.undelivered,
        };
        return Promise.resolve([{ partition: 3, offset: 7 }]);
      },
    },
    [
      {
        ...{ partition: { topic: name, partition }, epoch },
        record: { ...record, key: toBytes(one.key), value: toBytes(one.value) },
        rejection: new RejectionError(code, one.message, details),
        ...(one.undelivered !== undefined && { headers: { "topicsync.undelivered": one.undelivered } }),
      },
    ],
  );
  return parsed;
}

/** As MongoDB returns it; also the form in which undefined and absent members are equal. */
const store = <T>(value: T): T =>
  (BSON.deserialize(BSON.serialize({ value }, { ignoreUndefined: true })) as { value: T }).value;
const send = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

interface Pair {
  readonly name: string;
  readonly check: (maybe: Maybe) => Promise<void>;
}

const runsPerPresence = 15;

/** `expected`: what is read, where that is not the whole value. */
const pair = <T>(
  name: string,
  create: Create<T>,
  pass: (value: T) => unknown,
  expected: (value: T) => unknown = (value) => value,
): Pair => ({
  name,
  check: (maybe) =>
    fc.assert(
      fc.asyncProperty(create(maybe), async (value) => {
        const [read, wanted] = [store(await pass(value)), store(expected(value))];
        if (!isDeepStrictEqual(read, wanted)) assert.deepEqual(read, wanted);
      }),
      { numRuns: runsPerPresence },
    ),
});

/** History does not keep how a topic was before. */
const withoutPast = (one: Topic) => ({ ...one, previous: undefined, formerIds: undefined });

const pairs: readonly Pair[] = [
  pair("a topic", topic, (one) => fromTopicRecord(store(toTopicRecord(one)))),
  pair("a retired topic", retired, (one) =>
    fromRetiredRecord(store({ ...toRetiredRecord(one), _id: toRetiredId(one) })),
  ),
  pair(
    "a replaced version",
    replacedVersion,
    (one) => fromVersionRecord(store(toVersionRecord(one, 2))),
    (one) => ({
      topic: withoutPast(one.topic),
      ended: { on: one.endedOn, by: one.endedBy, as: one.action },
      isTransient: one.isTransient,
    }),
  ),
  pair("details", storedDetails, (one) => fromDetailsRecord(store(toDetailsRecord(one)))),
  pair(
    "replaced details",
    replacedDetails,
    (one) => {
      const record = store(toDescriptionRecord(one, 2));
      return { details: fromDescriptionRecord(record), topicId: record.sys_id, endedOn: record.valid_to };
    },
    ({ details, ...others }) => ({
      ...others,
      details: {
        ...{ ...details, words: [] },
        membership: details.membership && { ...details.membership, applied: undefined },
      },
    }),
  ),
  pair("an installation", installation, (one) => fromInstallationRecord(store(toInstallationRecord(one)))),
  pair("an exported installation", installation, (one) =>
    fromInstallationView(send(toInstallationView(one, { fullTokens: true }))),
  ),
  pair("a position", position, (one) => {
    const _id = toId({ group: "group", topic: "topic", partition: 0 });
    return fromRecord(store({ _id, ...toFields(one, new BSON.UUID()) }));
  }),
  pair(
    "a committed position",
    position,
    (one) => {
      const [sent] = toOffsets({ topic: "topic", partition: 0 }, one, "me").partitions;
      return toPosition(
        { offset: Number(sent?.offset), metadata: String(Reflect.get({ ...sent }, "metadata")) },
        "me",
      );
    },
    (one) => ({ ...one, isOurs: true }),
  ),
  pair("a replay", replay, (one) => fromReplayRecord(store(toReplayRecord(one)))),
  pair("an API key", key, (one) => {
    // The time of last use is set by itself.
    const { lastUsedOn } = one;
    return fromKeyRecord(store({ ...toKeyRecord(one, 1), ...(lastUsedOn && { last_used_on: lastUsedOn }) }));
  }),
  pair(
    "a session",
    () => session,
    (one) => fromSessionRecord(store(toSessionRecord(one))),
  ),
  pair(
    "a user",
    () => user,
    (one) => toStoredUser(store(toUserRecord(one))),
  ),
  pair("a set", topicSet, ({ view, namespaces }) => {
    const { name, origin, createdOn, createdBy } = view;
    const [apply] = view.applies;
    assert.ok(apply !== undefined);
    const { startedOn, endedOn, applied: made, ...said } = apply;
    const writes = { set: name, origin, apply: said, on: new Date(endedOn), namespaces, applied: made };
    const begun = {
      ...writes,
      on: new Date(startedOn),
      applied: 0,
      ...{ details: [], removedDetails: [], replacedDetails: [] },
    };
    const first = { ...addApply(null, begun), created_on: new Date(createdOn), created_by: createdBy };
    return fromSetRecord(store(addApply(store(first), { ...begun, ...writes })));
  }),
  pair("a dead letter", deadLetter, (one) => {
    const record = addCopy(undefined, one, 1);
    return record && fromDeadLetterRecord(store(record));
  }),
  pair("a dead letter in Kafka", letter, passLetter),
  pair("a topic in a plan", plannedTopic, (one) => {
    const state = send(toPlannedState(one));
    const { externalId, set, path } = state;
    return { externalId, definition: getDefinition(state), details: toDetails(state), set, path };
  }),
];

for (const [presence, maybe] of Object.entries(presences))
  describe(`with ${presence} of its optional members, what is read is what was written:`, () => {
    for (const { name, check } of pairs) it(name, () => check(maybe));
  });
