import { UnavailableError } from "@topicsync/lib/errors";
import { TopicGoneError, type ChangeWrites, type TopicStore } from "../../topics/stores.ts";
import type { RetiredTopic } from "../../topics/topic.ts";
import type { Database } from "../database/database.ts";
import { collections } from "../names.ts";
import type { SessionOptions } from "../positions.ts";
import { createRenames } from "./renames.ts";
import { toExactFilter, toRetiredId } from "./records.ts";
import { toVersionId } from "./versions.ts";
import { claimsValues, createGoneError, toViolation, writeTopics, type TopicCollections } from "./writes.ts";
import { runInSession } from "../database/transactions.ts";

/** Creates the function of the topic store that stores what users change. */
export function createTopicChanges(database: Database, stores: TopicCollections): TopicStore["change"] {
  const moveRenamed = createRenames(database, stores.retentionDays);
  return async (writes, further) => {
    async function write(options: SessionOptions): Promise<void> {
      await writeTopics(writes, stores, { ...options, toFilter: toExactFilter });
      await further?.(options);
      await moveRenamed(writes.renamed, options);
    }
    if (claimsValues(writes)) await database.run(() => database.ensureIndexes(collections.topics));
    const session = database.startSession();
    try {
      if (session === undefined)
        await database.run(async () => {
          await write({}).catch((error: unknown) => removeFalseRetirements(error, writes, stores));
          await endRetirements(writes, stores, {});
        });
      else
        await runInSession(database, session, async () => {
          await endRetirements(writes, stores, { session });
          await write({ session });
        });
    } catch (error) {
      if (
        error instanceof UnavailableError &&
        (await wereStored(writes, database, stores).catch(() => false))
      )
        return;
      throw toViolation(error);
    }
  };
}

/**
 * Of two writers that enable one topic, the second must not store its version once more, however late it is.
 */
async function endRetirements(
  { enabled, created }: ChangeWrites,
  { retired }: TopicCollections,
  options: SessionOptions,
): Promise<void> {
  for (const one of enabled) {
    const enabled_on = created.find(({ id }) => id === one.topic.id)?.updatedOn ?? one.retiredOn;
    const { matchedCount } = await retired.updateOne(
      { _id: toRetiredId(one), enabled_on: null },
      { $set: { enabled_on } },
      options,
    );
    if (matchedCount === 0) throw createGoneError();
  }
}

/**
 * Without transactions, a retirement is stored before its topic is removed. If the topic still exists,
 * another writer changed it; if not, another call retired this same version. Throws the error.
 */
async function removeFalseRetirements(
  error: unknown,
  { retired }: ChangeWrites,
  { topics, retired: retirements }: TopicCollections,
): Promise<never> {
  if (error instanceof TopicGoneError)
    for (const one of retired)
      if ((await topics.findOne({ _id: one.topic.id })) !== null)
        await retirements.deleteOne({ _id: toRetiredId(one) });
  throw error;
}

/**
 * Whether a commit whose response was lost has stored the writes, for good. All were stored if one of them
 * was; the last one that others cannot undo is looked up.
 */
function wereStored(
  { replaced: [replaced], retired: [disabled], created: [created] }: ChangeWrites,
  database: Database,
  { topics, retired, versions }: TopicCollections,
): Promise<boolean> {
  const isStored = async (): Promise<boolean> => {
    if (replaced !== undefined) {
      const { topic, endedOn, endedBy } = replaced;
      const own = { _id: toVersionId(topic.id, topic.version), valid_to: endedOn, ended_by: endedBy };
      return (await versions.findOne(own)) !== null;
    }
    if (disabled !== undefined) return (await retired.findOne(toOwnRetirement(disabled))) !== null;
    if (created === undefined) return false;
    const own = { _id: created.id, sys_updated_on: created.updatedOn };
    return (await topics.findOne(own)) !== null;
  };
  return database.run(async () => {
    const primary = database.getPrimary();
    if (!(await isStored())) return false;
    return database.confirmReads(primary, [
      collections.topics,
      collections.retiredTopics,
      collections.topicVersions,
    ]);
  });
}

const toOwnRetirement = (one: RetiredTopic) => ({
  _id: toRetiredId(one),
  retired_on: one.retiredOn,
  retired_by: one.retiredBy,
});
