/** Mistakes in what is decided and written about topics. */
import type { Mutant } from "./mutant.ts";

const handler = "consumers/batch-handler.ts";
const stores = "src/topics/stores.ts";
const service = "src/topics/service.ts";
const topicWrites = "src/storage/topics/writes.ts";

export const syncTopicMutants: readonly Mutant[] = [
  {
    name: "topics with repeated ids are decided without a look-up",
    world: "sync",
    file: service,
    replace: 'let level = raiseLevel(hasRepeatedIds(announcements) ? "all" : usualLevel, conflicts);',
    by: "let level = raiseLevel(usualLevel, conflicts);",
  },
  {
    name: "tombstones are decided ahead",
    world: "sync",
    file: service,
    replace: ' || batch.announcements.some(({ kind }) => kind === "retire")',
    by: "",
  },
  {
    name: "a batch that was decided ahead keeps the epoch of its decision",
    world: "sync",
    file: handler,
    replace: "let ahead = batch.epoch === to.epoch ? batch.ahead : undefined;",
    by: "let ahead = batch.ahead;",
    isEquivalent: "a batch is prepared and written without a pause between, so in one epoch",
  },
  {
    name: "a violated index fails the batch",
    world: "sync",
    file: stores,
    replace: "export class UniqueViolationError extends BatchConflictError {",
    by: "export class UniqueViolationError extends Error {",
  },
  {
    name: "more is looked up only for the batch that conflicted",
    world: "sync",
    file: service,
    replace: "      usualLevel = toUsualLevel(decision, level);\n",
    by: "",
    isEquivalent: "each batch with known topics is decided twice, with the same outcome",
  },
  {
    name: "a topic is disabled although the channel adopted it",
    world: "sync",
    file: "src/storage/topics/records.ts",
    replace:
      "export const toExactFilter = (topic: Topic): Filter<TopicRecord> => ({\n  ...toVersionFilter(topic),\n",
    by: "export const toExactFilter = (topic: Topic): Filter<TopicRecord> => ({\n  _id: topic.id,\n",
    schedule: "topic adopted while it is disabled",
  },
  {
    name: "errors around an election count as unforeseen",
    world: "sync",
    file: "src/storage/database/failures.ts",
    replace: "      175, 211, 217, 225,\n",
    by: "",
  },
  {
    name: "a deletion that finds nothing counts as done",
    world: "sync",
    file: topicWrites,
    replace: "    if (deletedCount < removed.length) throw createGoneError();\n",
    by: "    if (deletedCount < 0) throw createGoneError();\n",
    schedule: "topic disabled while the channel retires it",
  },
  {
    name: "a replacement that finds nothing counts as done",
    world: "sync",
    file: topicWrites,
    replace: "    if (matchedCount < updated.length) throw createGoneError();\n",
    by: "    if (matchedCount < 0) throw createGoneError();\n",
    schedule: "topic disabled while the channel adopts it",
  },
  {
    name: "an announcement of a new log counts as an earlier one",
    world: "sync",
    file: "src/topics/decide.ts",
    replace: "    stored.epoch === arrived.epoch &&\n",
    by: "",
  },
  {
    name: "a tombstone retires a topic that was created over HTTP",
    world: "sync",
    file: "src/topics/decide.ts",
    replace:
      '  if (current.source.kind === "http") return createHttpTopicRejection(current);\n  if (isLater(current.source, retiredBy))',
    by: "  if (isLater(current.source, retiredBy))",
  },
];
