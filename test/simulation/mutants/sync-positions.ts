/** Of positions and epochs, and of what a batch was decided on. */
import type { Mutant } from "./mutant.ts";

const positions = "src/storage/positions.ts";
const batch = "consumers/batch.ts";
const reader = "consumers/partition-reader.ts";
const positionRecords = "src/storage/position-records.ts";
const logs = "src/storage/logs.ts";
const clusters = "consumers/clusters.ts";
const startPosition = "consumers/start-position.ts";
const handler = "consumers/batch-handler.ts";
const derived = "src/storage/derive-position.ts";

export const syncPositionMutants: readonly Mutant[] = [
  {
    name: "an update that finds no position counts as done",
    world: "sync",
    file: positions,
    replace: "  if (matchedCount === 0) throw createFencedError(key, from);\n",
    by: "  if (matchedCount === -1) throw createFencedError(key, from);\n",
  },
  {
    name: "a position is stored without its topic id",
    world: "sync",
    file: positionRecords,
    replace: "...(topicId === undefined ? {} : { kafka_topic_id: topicId }),",
    by: "",
  },
  {
    name: "a position is stored without its epoch",
    world: "sync",
    file: positionRecords,
    replace: "...(epoch === 1 ? {} : { epoch }),",
    by: "",
  },
  {
    name: "dead letters leave although their batch was decided on another primary",
    world: "sync",
    file: positions,
    replace: "await database.confirmReads(primary, decidedOn);\n      this.#requirePrimary();",
    by: "await database.confirmReads(primary, decidedOn);",
  },
  {
    name: "dead letters leave before a majority has what their batch was decided on",
    world: "sync",
    file: positions,
    replace: "await database.confirmReads(primary, decidedOn);",
    by: "",
  },
  {
    name: "a commit does not look at the primary that its batch was decided on",
    world: "sync",
    file: positions,
    replace: "      this.#requirePrimary();\n      const { session }",
    by: "      const { session }",
    schedule: "elections while topics are looked up",
  },
  {
    name: "the primary is asked for after the decision",
    world: "sync",
    file: handler,
    replace: "await storeBatch(store, { key, from, to, primary },",
    by: "await storeBatch(store, { key, from, to, primary: primary && store.getPrimary() },",
  },
  {
    name: "a dead letter that its topic rejects counts as sent",
    world: "sync",
    file: "consumers/dead-letter-sender.ts",
    replace: '"rejection" in result ? [simplify(form, result.rejection)] : [];',
    by: '"rejection" in result && form.isPlain ? [simplify(form, result.rejection)] : [];',
  },
  {
    name: "the position is not released after a batch",
    world: "sync",
    file: batch,
    replace: "await batch.end();",
    by: "",
  },
  {
    name: "the start of the log is taken for the stored position",
    world: "sync",
    file: reader,
    replace: "this.#writer.setStored(claimed);",
    by: "this.#writer.setStored(start.position);",
  },
  {
    name: "a corrected position is stored only with the next batch",
    world: "sync",
    file: reader,
    replace: "if (isStoredAtOnce(start, this.#writer.stored))",
    by: "if (isStoredAtOnce(start, this.#writer.stored) && next.offset < 0)",
  },
  {
    name: "a claim does not seek",
    world: "sync",
    file: reader,
    replace: "        member.seek(partition, next.offset);\n",
    by: "",
  },
  {
    name: "an idle reader does not look at its log",
    world: "sync",
    file: reader,
    replace: "if (isReplaced(reading, log))",
    by: "if (log.high < 0)",
    schedule: "log replaced by one that ends at the position",
  },
  {
    name: "an idle reader does not look at its position",
    world: "sync",
    file: reader,
    replace: "!isSamePosition(position, writer.stored)",
    by: "position.offset < 0",
  },
  {
    name: "the mirror of a cluster is read like a new log",
    world: "sync",
    file: clusters,
    replace: "  if (other === undefined) return;\n",
    by: '  if (other !== "") return;\n',
  },
  {
    name: "a process that its group has given up claims positions",
    world: "sync",
    file: reader,
    replace: "if (!member.isInGroup())",
    by: "if (this.#denial !== undefined)",
  },
  {
    name: "a log that was replaced is read again",
    world: "sync",
    file: startPosition,
    replace: "if ((epoch ?? 0) <= stored.epoch)",
    by: "if ((epoch ?? 0) < 0)",
    schedule: "broker that lags shows a log that was replaced",
  },
  {
    name: "a position without a topic id counts as one of another log",
    world: "sync",
    file: clusters,
    replace: "  stored.topicId !== undefined && topicId !== undefined && stored.topicId !== topicId;",
    by: "  topicId !== undefined && stored.topicId !== topicId;",
  },
  {
    name: "a position without a topic id does not get one",
    world: "sync",
    file: startPosition,
    replace: "topicId: topicId ?? stored.topicId,",
    by: "topicId: stored.topicId,",
  },
  {
    name: "a log that lost its end goes on in its epoch",
    world: "sync",
    file: startPosition,
    replace: "epoch: Math.max(epoch ?? 0, stored.epoch),",
    by: "epoch: stored.epoch,",
  },
  {
    name: "a log that lost its end gets no other epoch",
    world: "sync",
    file: logs,
    replace: "if (known !== undefined && known >= lowest) return known;",
    by: "if (known !== undefined) return known;",
  },
  {
    name: "an epoch is only read",
    world: "sync",
    file: logs,
    replace:
      'logs.findOneAndUpdate(\n      { kafka_topic: topic, kafka_topic_id: topicId },\n      { $set: { last_claimed_on: currentDate() }, $addToSet: { read_partitions: partition } },\n      { returnDocument: "after", maxTimeMS: maxUpdateMs },\n    );',
    by: "logs.findOne({ kafka_topic: topic, kafka_topic_id: topicId });",
    schedule: "epoch that is read before an election loses it",
  },
  {
    name: "an update that finds no epoch counts as done",
    world: "sync",
    file: logs,
    replace: "return matchedCount === 1;",
    by: "return matchedCount >= 0;",
  },
  {
    name: "the epochs of positions from before topic ids do not count",
    world: "sync",
    file: logs,
    replace: "return Math.max(1, ...epochs);",
    by: "return Math.max(1, ...epochs.slice(epochs.length));",
  },
  {
    name: "a derived position is that of the last announcement",
    world: "sync",
    file: derived,
    replace: "offset: last.offset + 1,",
    by: "offset: last.offset,",
  },
  {
    name: "a derived position is in the first epoch",
    world: "sync",
    file: derived,
    replace: "const epoch = getEpoch(last);",
    by: "const epoch = Math.min(1, getEpoch(last));",
  },
  {
    name: "a derived position has no topic id",
    world: "sync",
    file: derived,
    replace: "topicId: log?.kafka_topic_id, ...cluster };",
    by: "topicId: log === null ? undefined : undefined, ...cluster };",
  },
  {
    name: "a position is derived without the retired topics",
    world: "sync",
    file: derived,
    replace: "for await (const { retired_by } of retired) last = pickLater(last, retired_by);",
    by: "void retired;",
  },
  {
    name: "writes do not wait for a majority",
    world: "sync",
    file: "src/storage/database/client-options.ts",
    replace: 'w: "majority"',
    by: "w: 1",
  },
];
