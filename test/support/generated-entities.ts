import { rejectionCodes, type Fault } from "@topicsync/lib/errors";
import type { Position, RecordPosition } from "@topicsync/kafka";
import fc from "fast-check";
import type { TopicLifecycle } from "../../schemas/topics/details.ts";
import type { DeadLetterCode } from "../../src/dead-letters/dead-letter.ts";
import type { Replay } from "../../src/dead-letters/stores.ts";
import type { StoredDeadLetter } from "../../src/dead-letters/summary.ts";
import type { Installation } from "../../src/installations/installation.ts";
import type { SessionBasis, StoredSession } from "../../src/users/session.ts";
import type { toPlannedState } from "../../src/plans/plan.ts";
import type { TopicSet } from "../../src/plans/stores.ts";
import type {
  AppliedVersion,
  ReplacedDetails,
  SetMembership,
  StoredDetails,
  TopicDetails,
} from "../../src/topics/details/details.ts";
import {
  versionActions,
  type AnnouncementSource,
  type ChangeLabel,
  type PreviousTopic,
  type ReplacedVersion,
  type RetiredTopic,
  type Source,
  type Topic,
  type TopicDefinition,
  type UserSource,
} from "../../src/topics/topic.ts";
import type { StoredKey } from "../../src/users/key.ts";
import type { StoredUser } from "../../src/users/user.ts";
import { count, date, list, object, positive, text, type Maybe } from "./generated.ts";

/** Creates the values of a type, with or without its optional members. */
export type Create<T> = (maybe: Maybe) => fc.Arbitrary<T>;

const oneOf = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const orEmpty = (maybe: Maybe): fc.Arbitrary<string> => maybe(text, "");
const listOrNone = <T>(maybe: Maybe, of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => maybe(list(of), []);

const recordPosition: Create<RecordPosition> = (maybe) =>
  object<RecordPosition>({ topic: text, partition: count, offset: positive, epoch: maybe(positive) });

const changeLabel: Create<ChangeLabel> = (maybe) =>
  object<ChangeLabel>({ set: text, plan: text, revision: maybe(text) });

const userSource: Create<UserSource> = (maybe) =>
  object<UserSource>({ kind: fc.constant("http"), user: text, change: maybe(changeLabel(maybe)) });

const announcementSource: Create<AnnouncementSource> = (maybe) =>
  object<AnnouncementSource>({
    ...{ kind: fc.constant("announcement"), topic: text, partition: count, offset: positive },
    epoch: maybe(positive),
  });

const source: Create<Source> = (maybe) => fc.oneof(userSource(maybe), announcementSource(maybe));

const texts = { name: text, namespace: text, headerQuery: text, contentQuery: text };
const definition = object<TopicDefinition>({ externalId: text, ...texts });

const previous: Create<PreviousTopic> = (maybe) =>
  object<PreviousTopic>({ ...texts, source: source(maybe), updatedOn: date });

export const topic: Create<Topic> = (maybe) =>
  object<Topic>({
    ...{ externalId: text, ...texts, id: text, source: source(maybe), createdOn: date, updatedOn: date },
    version: maybe(positive, 1),
    previous: maybe(previous(maybe)),
    formerIds: maybe(list(text)),
  });

export const replacedVersion: Create<ReplacedVersion> = (maybe) =>
  object<ReplacedVersion>({
    ...{ topic: topic(maybe), endedBy: source(maybe), endedOn: date, action: oneOf(...versionActions) },
    isTransient: maybe(fc.constant(true), false),
  });

export const retired: Create<RetiredTopic> = (maybe) =>
  object<RetiredTopic>({ topic: topic(maybe), retiredOn: date, retiredBy: source(maybe) });

const tags = fc.uniqueArray(oneOf("a", "b-c", "d"), { minLength: 1 }).map((all) => all.toSorted());
const labels = fc
  .uniqueArray(oneOf("cost-center", "b", "c"), { minLength: 1 })
  .chain((names) => fc.tuple(...names.toSorted().map((name) => fc.tuple(fc.constant(name), oneOf("x", "")))))
  .map((pairs): Record<string, string> => Object.fromEntries(pairs));

const detailsMembers = (maybe: Maybe) => ({
  ...{ owner: orEmpty(maybe), description: orEmpty(maybe), contact: orEmpty(maybe) },
  tags: maybe(tags, []),
  labels: maybe(labels, {}),
  lifecycle: maybe(fc.constant<TopicLifecycle>("deprecated"), "active" as const),
  sunset: maybe(fc.constant("2027-01-01"), null),
  replacedBy: orEmpty(maybe),
  consumers: listOrNone(maybe, object({ name: text, contact: orEmpty(maybe) })),
  protected: maybe(fc.constant(true), false),
});

const applied: Create<AppliedVersion> = (maybe) =>
  object<AppliedVersion>({
    ...{ version: positive, digest: text, plan: text, on: date },
    externalId: maybe(text),
  });

const membership: Create<SetMembership> = (maybe) =>
  object<SetMembership>({ set: text, path: maybe(text), applied: maybe(applied(maybe)) });

export const storedDetails: Create<StoredDetails> = (maybe) =>
  object<StoredDetails>({
    ...detailsMembers(maybe),
    ...{ externalId: text, version: positive, namespace: text, words: listOrNone(maybe, text) },
    ...{ membership: maybe(membership(maybe)), changedOn: date, changedBy: text },
    replaces: maybe(text),
  });

export const replacedDetails: Create<ReplacedDetails> = (maybe) =>
  object<ReplacedDetails>({ details: storedDetails(maybe), topicId: maybe(text), endedOn: date });

export const installation: Create<Installation> = (maybe) =>
  object<Installation>({
    ...{ id: text, application: text, platform: text, token: text, user: text, active: fc.constant(false) },
    ...{ createdOn: date, updatedOn: date, lastSeenOn: date },
    ...{ deactivatedOn: maybe(date), deactivatedReason: maybe(text) },
    previousOwners: listOrNone(maybe, object({ user: text, until: date })),
    attributes: maybe(object({ appVersion: text, locale: text })),
  });

export const position: Create<Position> = (maybe) =>
  object<Position>({
    ...{ offset: count, epoch: maybe(positive, 1) },
    ...{ topicId: maybe(text), clusterId: maybe(text) },
  });

export const replay: Create<Replay> = (maybe) =>
  object<Replay>({
    ...{ deadLetterId: text, attempt: positive, startedAt: date, state: oneOf("sending", "sent") },
    sentTo: object<Replay["sentTo"]>({
      topic: text,
      ...{ partition: maybe(count), offset: maybe(positive), epoch: maybe(positive) },
    }),
  });

export const key: Create<StoredKey> = (maybe) =>
  object<StoredKey>({
    ...{ id: text, name: text, digest: text, roles: list(text), createdOn: date, createdBy: text },
    ...{ maker: maybe(text), expiresOn: date, lastUsedOn: maybe(date) },
  });

const basis = fc.oneof<fc.Arbitrary<SessionBasis>[]>(
  object({ passwordDigest: text }),
  object({ issuer: text, roles: list(text) }),
);
export const session = object<StoredSession>({
  digest: text,
  user: text,
  basis,
  createdOn: date,
  expiresOn: date,
});
export const user = object<StoredUser>({
  name: text,
  roles: list(text),
  active: fc.boolean(),
  passwordHash: text,
});

const time = date.map((on) => on.toISOString());

export const topicSet: Create<TopicSet> = (maybe) =>
  object<TopicSet>({
    view: object<TopicSet["view"]>({
      ...{ name: text, origin: maybe(text), createdOn: time, createdBy: text },
      applies: object<TopicSet["view"]["applies"][number]>({
        ...{ plan: text, revision: maybe(text), by: text, startedOn: time, endedOn: time },
        ...{ applied: positive, total: positive },
      }).map((apply) => [apply]),
    }),
    namespaces: fc.uniqueArray(text).map((all) => all.toSorted()),
  });

const codes: readonly DeadLetterCode[] = [...rejectionCodes, "OTHER"];

export const deadLetter: Create<StoredDeadLetter> = (maybe) =>
  object<StoredDeadLetter>({
    ...{ id: text, position: object({ topic: fc.constant("letters"), partition: count, offset: positive }) },
    ...{ source: maybe(recordPosition(maybe)), code: oneOf(...codes), time: maybe(date), message: text },
    ...{ omitted: maybe(text), externalId: maybe(text), namespace: maybe(text), bytes: count, rank: count },
    copies: fc.constant(1),
  });

export const plannedTopic: Create<Parameters<typeof toPlannedState>[0]> = (maybe) =>
  fc.record({ one: definition, isDefined: maybe(fc.constant(true), false) }).chain(({ one, isDefined }) =>
    object<Parameters<typeof toPlannedState>[0]>({
      externalId: fc.constant(one.externalId),
      definition: fc.constant(isDefined ? one : undefined),
      details: object<TopicDetails>(detailsMembers(maybe)),
      ...{ set: maybe(text), path: maybe(text) },
    }),
  );

/** The first one is not written. */
const laterEpoch = positive.map((number) => number + 1);

export interface Letter {
  readonly from: RecordPosition;
  readonly code: (typeof rejectionCodes)[number];
  readonly message: string;
  readonly details: readonly Fault[];
  readonly time: Date;
  readonly key: string | undefined;
  readonly value: string | undefined;
  readonly undelivered: string | undefined;
}

export const letter: Create<Letter> = (maybe) =>
  object<Letter>({
    from: object<RecordPosition>({
      ...{ topic: oneOf("events", "a.b-c"), partition: count, offset: positive, epoch: maybe(laterEpoch) },
    }),
    ...{ code: oneOf(...rejectionCodes), message: text, time: date },
    details: listOrNone(maybe, object({ path: text, message: text })),
    ...{ key: maybe(text), value: maybe(text), undelivered: maybe(text) },
  });
