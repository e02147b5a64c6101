import type { AnyBulkWriteOperation, Filter } from "mongodb";

import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { UnavailableError } from "@topicsync/lib/errors";
import { toRemovalReason } from "../installations/deactivation.ts";
import { toWords } from "../topics/details/details.ts";
import type { BegunErasure, ErasureStore } from "../users/erasure.ts";
import { maxUpdateMs, updateLimit } from "./database/client-options.ts";
import { runEach, type Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import type { JobRecord } from "./jobs.ts";
import { collections } from "./names.ts";
import { findRangeEnd, toIdRange, toPrefixRange } from "./queries.ts";

/** An erasure that has not ended: with a user's own record the only one that still has the name. */
interface ErasureRecord extends JobRecord, Pick<BegunErasure, "pseudonym"> {
  keys?: BegunErasure["keys"];
}

type NamedRecord = Readonly<Record<string, unknown>> & { readonly _id: string };

const details = ["changed_by", "owner", "contact", "consumers[].name", "consumers[].contact"];

/**
 * Where names are, besides in users, sessions, keys and erasures. A collection that is not here has none.
 * docs/personal-data.md describes all.
 */
const places = {
  topics: ["source.user", "previous.source.user"],
  retiredTopics: ["source.user", "previous.source.user", "retired_by.user"],
  topicVersions: ["source.user", "ended_by.user"],
  topicDetails: details,
  topicDescriptions: details,
  topicSets: ["created_by", "applies[].by"],
  backfills: ["request.requestedBy"],
  deadLetters: ["message"],
  installations: ["user", "previous_owners[].user", "deactivated_reason"],
} as const satisfies Partial<Record<keyof typeof collections, readonly string[]>>;

type Place = keyof typeof places;

/** What else is read of them. */
const context: Partial<Record<Place, readonly string[]>> = {
  topicDetails: ["words", "tags", "description"],
  // The token is the shard key.
  installations: ["token"],
};

const idPrefix = "erase:";
const recordsPerWrite = 250;

/** No index finds names: `recordsPerScan` bounds what one query reads. */
export function createErasureStore(database: Database, recordsPerScan = 5_000): ErasureStore {
  const erasures = database.collection<ErasureRecord>(collections.jobs);
  const keys = database.collection<{ _id: string; name: string }>(collections.keys);
  const toMaker = (name: string): object => ({ $or: [{ created_by: name }, { maker: name }] });

  /** Yields the records of a collection that have one of these names, in batches. */
  async function* findNamed(place: Place, names: readonly string[]): AsyncGenerator<NamedRecord[]> {
    const all = database.collection<NamedRecord>(collections[place]);
    const $or = places[place].map((path) => toCondition(path, names));
    const fields = [...places[place].map(toField), ...(context[place] ?? [])];
    const projection = Object.fromEntries(fields.map((field) => [field, 1]));
    let after: string | undefined;
    do {
      const end = await database.run(() => findRangeEnd(all, after, recordsPerScan));
      const filter = { ...toIdRange(after, end), $or } as Filter<NamedRecord>;
      const found = await database.run(() =>
        all.find(filter, { projection, maxTimeMS: maxUpdateMs }).toArray(),
      );
      if (found.length > 0) yield found;
      after = end;
    } while (after !== undefined);
  }

  return {
    ...runEach<Omit<ErasureStore, "isNamed" | "replaceName">>(database, {
      async listBegun() {
        const begun = await erasures.find({ _id: toPrefixRange(idPrefix) }).toArray();
        return new Set(begun.map(({ _id }) => _id.slice(idPrefix.length)));
      },

      async begin(name, { pseudonym, dueOn }) {
        const update = { $setOnInsert: { next_on: dueOn, pseudonym } };
        try {
          await erasures.updateOne({ _id: toId(name) }, update, { ...updateLimit, upsert: true });
        } catch (error) {
          // Another request has begun it at the same time.
          if (!isDuplicate(error)) throw error;
        }
      },

      async revokeKeys(name) {
        const made = await keys.find(toMaker(name), { projection: { name: 1 } }).toArray();
        if (made.length > 0) {
          // First, so that they are named even if this process is killed in between.
          const $each = made.map((key) => ({ id: key._id, name: key.name }));
          await erasures.updateOne({ _id: toId(name) }, { $addToSet: { keys: { $each } } }, updateLimit);
          await keys.deleteMany({ _id: { $in: made.map(({ _id }) => _id) } }, updateLimit);
        }
        const begun = await erasures.findOne({ _id: toId(name) });
        if (begun === null) throw new UnavailableError("another request has ended the same erasure");
        return { pseudonym: begun.pseudonym, dueOn: begun.next_on, keys: begun.keys ?? [] };
      },

      async postpone(name, dueOn) {
        await erasures.updateOne({ _id: toId(name) }, { $set: { next_on: dueOn } }, updateLimit);
      },

      async end(name) {
        await erasures.deleteOne({ _id: toId(name) }, updateLimit);
      },
    }),

    async isNamed(name) {
      const isHere = await database.run(
        async () =>
          (await erasures.findOne({ _id: toId(name) })) !== null ||
          (await keys.findOne(toMaker(name))) !== null,
      );
      if (isHere) return true;
      for (const place of Object.keys(places) as Place[])
        for await (const _found of findNamed(place, [name])) return true;
      return false;
    },

    async replaceName(name, pseudonym, { isDue }) {
      let [found, tokens] = [0, 0];
      for (const place of Object.keys(places) as Place[]) {
        const names = isDue && place === "installations" ? [name, pseudonym] : [name];
        for await (const records of findNamed(place, names))
          for (const some of splitIntoBatches(records, recordsPerWrite)) {
            const writes = some.flatMap((record) => toWrite(place, record, { name, pseudonym }));
            found += writes.filter((write) => "updateOne" in write).length;
            if (writes.length === 0) continue;
            const all = database.collection<NamedRecord>(collections[place]);
            const options = { ordered: false, maxTimeMS: maxUpdateMs };
            tokens += (await database.run(() => all.bulkWrite(writes, options))).deletedCount;
          }
      }
      return { found, tokens };
    },
  };
}

const toId = (name: string): string => `${idPrefix}${name}`;

/** The field of a path that is read and written as a whole. */
const toField = (path: string): string => path.split("[].", 1)[0] ?? path;

/** A message quotes names, and a reason ends with one; all other texts are names. */
const toCondition = (path: string, names: readonly string[]): object =>
  path === "message"
    ? { message: { $in: names.map((name) => new RegExp(escape(quote(name)))) } }
    : { [path.replace("[]", "")]: { $in: names.flatMap((name) => [name, toRemovalReason(name)]) } };

const quote = (name: string): string => `"${name}"`;

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");

interface Replacement {
  readonly name: string;
  readonly pseudonym: string;
}

/** The write that replaces the name in a record, if it is still as it was read. None if it has no name. */
function toWrite(
  place: Place,
  record: NamedRecord,
  { name, pseudonym }: Replacement,
): AnyBulkWriteOperation<NamedRecord>[] {
  const id = { _id: record._id, ...(place === "installations" && { token: record["token"] }) };
  // It was renamed by an earlier call. Were it deleted sooner, a registration by the token's next user that
  // has read the name could insert it again.
  if (place === "installations" && record["user"] === pseudonym)
    return [{ deleteOne: { filter: { ...id, user: pseudonym } } }];
  const replace = (text: unknown): unknown => {
    if (text === name) return pseudonym;
    if (text === toRemovalReason(name)) return toRemovalReason(pseudonym);
    return place === "deadLetters" ? String(text).replaceAll(quote(name), quote(pseudonym)) : text;
  };
  const read = new Map<string, unknown>();
  const changed = new Map<string, unknown>();
  for (const path of places[place]) {
    const field = toField(path);
    const before = changed.get(field) ?? readField(record, field);
    const member = path.slice(field.length + "[].".length);
    const after = Array.isArray(before)
      ? (before as object[]).map((one) => replaceMember(one, member, replace))
      : replace(before);
    if (JSON.stringify(after) === JSON.stringify(before)) continue;
    if (!read.has(field)) read.set(field, before);
    changed.set(field, after);
  }
  if (changed.size === 0) return [];
  if (changed.has("user")) changed.set("active", false);
  if (changed.has("owner") && Array.isArray(record["words"])) {
    read.set("words", record["words"]);
    changed.set("words", dropWords(record, name));
  }
  const filter = { ...id, ...Object.fromEntries(read) } as Filter<NamedRecord>;
  return [{ updateOne: { filter, update: { $set: Object.fromEntries(changed) } } }];
}

const readField = (record: unknown, field: string): unknown =>
  field
    .split(".")
    .reduce<unknown>((value, member) => (value as Record<string, unknown> | undefined)?.[member], record);

const replaceMember = (one: object, member: string, replace: (text: unknown) => unknown): object =>
  member in one ? { ...one, [member]: replace((one as Record<string, unknown>)[member]) } : one;

/** The words that a topic is found by without those of a former owner that its details have nowhere else. */
function dropWords({ _id, words, ...record }: NamedRecord, owner: string): string[] {
  const others = new Set(toWords([_id, record["tags"], record["description"]].join(" ")));
  const dropped = new Set(toWords(owner));
  return (words as string[]).filter((word) => others.has(word) || !dropped.has(word));
}
