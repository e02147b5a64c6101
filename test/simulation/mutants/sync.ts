/** Mistakes around positions, logs and batches. */
import type { Mutant } from "./mutant.ts";

const positions = "src/storage/positions.ts";
const batch = "consumers/batch.ts";
const reader = "consumers/partition-reader.ts";
const writer = "consumers/batch-writer.ts";
const positionRecords = "src/storage/position-records.ts";
const logs = "src/storage/logs.ts";
const startPosition = "consumers/start-position.ts";

export const syncMutants: readonly Mutant[] = [
  {
    name: "the position moves without a comparison",
    world: "sync",
    file: positions,
    replace: "    toFilter(key, from),\n    { $set: toFields(to, id) },",
    by: "    { _id: toId(key) },\n    { $set: toFields(to, id) },",
  },
  {
    name: "the comparison ignores the epoch",
    world: "sync",
    file: positionRecords,
    replace: "epoch: from === undefined || from.epoch === 1 ? null : from.epoch,",
    by: "",
  },
  {
    name: "the position moves outside the transaction",
    world: "sync",
    file: positions,
    replace: "await move(this.#step, this.#id, this.#options, this.#context);",
    by: "await move(this.#step, this.#id, {}, this.#context);",
  },
  {
    name: "the records are written outside the transaction",
    world: "sync",
    file: positions,
    replace: "await this.#context.write(writes, this.#options);",
    by: "await this.#context.write(writes, {});",
  },
  {
    name: "the commit is not awaited",
    world: "sync",
    file: positions,
    replace: "if (session !== undefined) await commit(session);",
    by: "if (session !== undefined) void commit(session).catch(() => undefined);",
  },
  {
    name: "a failed step does not abort the transaction",
    world: "sync",
    file: positions,
    replace: "      await this.#abort();\n      throw",
    by: "      throw",
  },
  {
    name: "a claim does not wait for the previous batch",
    world: "sync",
    file: "packages/lib/concurrency/lock.ts",
    replace: "await previousEnded;",
    by: "",
    isEquivalent:
      "a reader waits for its own writes and for those of the readers before it; two claims at once do no harm",
  },
  {
    name: "a claim does not kill the sessions of former owners",
    world: "sync",
    file: positions,
    replace: "await abortOpenTransactions(_id, owned, context);",
    by: "",
    isEquivalent: "a takeover only takes longer, as on stores that do not allow it",
  },
  {
    name: "dead letters are sent before the position is checked",
    world: "sync",
    file: batch,
    replace: "await batch.checkPosition();",
    by: "",
  },
  {
    name: "dead letters are sent after the commit",
    world: "sync",
    file: batch,
    replace: "          await sendDeadLetters();\n        }\n        await batch.commit();",
    by: "        }\n        await batch.commit();\n        await sendDeadLetters?.();",
  },
  {
    name: "dead letters are not sent",
    world: "sync",
    file: batch,
    replace: "await sendDeadLetters();",
    by: "",
  },
  {
    name: "no heartbeats during a long write",
    world: "sync",
    file: batch,
    replace: "const stop = repeat(heartbeatIntervalMs, () => void batch.heartbeat());",
    by: "const stop = () => undefined;",
    isEquivalent: "the group takes the partition away more often, which the position makes safe",
  },
  {
    name: "a failed write counts as stored",
    world: "sync",
    file: writer,
    replace: "      this.#results.onFailed(error);\n      return { prepared, outcome, to };",
    by: "      void error;",
  },
  {
    name: "after a failed write the next one follows without a claim",
    world: "sync",
    file: reader,
    replace: "    this.#pause(getErrorMessage(error), cause);\n  }",
    by: "  }",
  },
  {
    name: "a failed write is reported as stored without a look at its owner",
    world: "sync",
    file: writer,
    replace: "if (write === undefined || claimed?.isOurs !== true) return;",
    by: "if (write === undefined || claimed === undefined) return;",
  },
  {
    name: "a batch is written although it is outdated",
    world: "sync",
    file: reader,
    replace: "return this.#mode === reading && !this.#hasEnded() && batch.isCurrent();",
    by: "return this.#mode === reading;",
    isEquivalent:
      "a member joins again only after its batches, and the position is compared if another one has moved it",
  },
  {
    name: "the log that a batch comes from is not compared",
    world: "sync",
    file: reader,
    replace: "if (batch.topicId !== reading.topicId) {",
    by: "if (batch.topicId === null) {",
  },
  {
    name: "the offset that a batch was fetched at is not compared",
    world: "sync",
    file: reader,
    replace: "if (batch.fetchedFrom !== reading.next.offset) {",
    by: "if (batch.fetchedFrom < 0) {",
  },
  {
    name: "an offset out of range is passed over",
    world: "sync",
    file: reader,
    replace: "if (batch.isOutOfRange) {",
    by: "if (batch.fetchedFrom < 0) {",
  },
  {
    name: "what is not delivered does not move the position",
    world: "sync",
    file: reader,
    replace: "let rest: readonly LogRecord[] | undefined = batch.records;",
    by: "let rest: readonly LogRecord[] | undefined = batch.records;\n    if (rest.length === 0) return batch.advance(batch.end - 1);",
  },
  {
    name: "a part of a fetch covers all of it",
    world: "sync",
    file: reader,
    replace: "rest[0] === undefined ? batch.end : (prepared.records.at(-1)?.offset ?? -1) + 1;",
    by: "batch.end;",
  },
  {
    name: "a new log keeps the epoch",
    world: "sync",
    file: startPosition,
    replace: "return startNewLog({ offset: low, epoch: epoch ?? 1, topicId, ...cluster });",
    by: "return startNewLog({ offset: low, epoch: stored.epoch, topicId });",
  },
  {
    name: "a new log is read from the stored offset",
    world: "sync",
    file: startPosition,
    replace: "return startNewLog({ offset: low, epoch: epoch ?? 1, topicId, ...cluster });",
    by: "return startNewLog({ offset: Math.min(stored.offset, high), epoch: epoch ?? 1, topicId });",
  },
  {
    name: "a log that ends before the position counts without a look at the other brokers",
    world: "sync",
    file: startPosition,
    replace: "if (isKnown && stored !== undefined && !isCut) return epoch;",
    by: "if (isKnown && stored !== undefined) return epoch;",
  },
  {
    name: "an epoch is allotted twice",
    world: "sync",
    file: logs,
    replace: "const next = Math.max(...known.map(({ epoch }) => epoch)) + 1;",
    by: "const next = Math.max(...known.map(({ epoch }) => epoch));",
  },
  {
    name: "a batch is stored although it was decided on another primary",
    world: "sync",
    file: positions,
    replace: "if (primary !== undefined && primary !== this.#context.database.getPrimary())",
    by: "if (primary === this.#context.database.getPrimary() + key.topic)",
  },
  {
    name: "a claim changes nothing if the process has claimed before",
    world: "sync",
    file: positions,
    replace: "const $set = { claim: new UUID(newId()) };",
    by: "const $set = { claim: (context.claimOfProcess ??= new UUID(newId())) };",
    isEquivalent:
      "a process has one session per partition, and its next transaction aborts one that is still open; after a late commit, the position is compared",
  },
  {
    name: "a reader starts while another of its process may still write",
    world: "sync",
    file: writer,
    replace: "= previousClosed.then(() => undefined);",
    by: "= Promise.resolve(undefined);",
  },
];
