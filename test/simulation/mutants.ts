import type { WorldName } from "./run.ts";

/** A small break of the product, which the simulation must find. */
export interface Mutant {
  readonly name: string;
  readonly world: WorldName;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly replace: string;
  readonly by: string;
  /** Why it breaks nothing that is checked; only where that is so. */
  readonly isEquivalent?: string;
  /** The schedule in `regressions` that finds it, where random ones do so too rarely. */
  readonly schedule?: string;
}

const positions = "src/storage/positions.ts";
const batch = "consumers/batch.ts";
const reader = "consumers/partition-reader.ts";
const logs = "src/storage/logs.ts";
const startPosition = "consumers/start-position.ts";
const handler = "consumers/announcements/handler.ts";
const service = "src/topics/service.ts";
const groupCommit = "src/installations/group-commit.ts";
const installations = "src/storage/installations.ts";

const transactions = "src/kafka/transactions.ts";
const events = "consumers/events/handler.ts";

export const mutants: readonly Mutant[] = [
  {
    name: "the position moves without a comparison",
    world: "sync",
    file: positions,
    replace: "await positions.updateOne(toFilter(key, from), { $set }, options)",
    by: "await positions.updateOne({ _id: toId(key) }, { $set }, options)",
  },
  {
    name: "the comparison ignores the epoch",
    world: "sync",
    file: positions,
    replace: "epoch: from === undefined || from.epoch === 1 ? null : from.epoch,",
    by: "",
  },
  {
    name: "the position moves outside the transaction",
    world: "sync",
    file: positions,
    replace: "await move(step, options);",
    by: "await move(step, {});",
  },
  {
    name: "the records are written outside the transaction",
    world: "sync",
    file: positions,
    replace: "await write(options);",
    by: "await write({});",
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
    replace: "          await abort();\n          throw error;",
    by: "          throw error;",
  },
  {
    name: "a claim does not wait for the batch before",
    world: "sync",
    file: positions,
    replace: "await previousEnded;",
    by: "",
  },
  {
    name: "a claim does not kill the sessions of former owners",
    world: "sync",
    file: positions,
    replace: "await abortOpenTransactions(_id);",
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
    file: reader,
    replace: "      this.#handleWriteFailure(error, elapsed() - startedAt);\n      return { prepared, to };",
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
    file: reader,
    replace: "if (write === undefined || claimed?.isOurs !== true) return;",
    by: "if (write === undefined || claimed === undefined) return;",
  },
  {
    name: "a batch is written although it is outdated",
    world: "sync",
    file: reader,
    replace: "return this.#mode === reading && !this.#isClosed() && batch.isCurrent();",
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
    replace: "return startNewLog({ offset: low, epoch: epoch ?? 1, topicId });",
    by: "return startNewLog({ offset: low, epoch: stored.epoch, topicId });",
  },
  {
    name: "a new log is read from the stored offset",
    world: "sync",
    file: startPosition,
    replace: "return startNewLog({ offset: low, epoch: epoch ?? 1, topicId });",
    by: "return startNewLog({ offset: Math.min(stored.offset, high), epoch: epoch ?? 1, topicId });",
  },
  {
    name: "a log that ends before the position counts without a look at the other brokers",
    world: "sync",
    file: startPosition,
    replace: "if (isKnown && stored !== undefined && stored.offset <= log.high) return epoch;",
    by: "if (isKnown && stored !== undefined) return epoch;",
  },
  {
    name: "an epoch is allotted twice",
    world: "sync",
    file: logs,
    replace: "Math.max(...known.map(({ epoch }) => epoch)) + 1;",
    by: "Math.max(...known.map(({ epoch }) => epoch));",
  },
  {
    name: "a batch is stored although it was decided on another primary",
    world: "sync",
    file: positions,
    replace: "if (primary !== undefined && primary !== database.getPrimary())",
    by: "if (primary === database.getPrimary() + key.topic)",
  },
  {
    name: "a claim changes nothing if the process has claimed before",
    world: "sync",
    file: positions,
    replace: "const $set = { claim: new UUID(newId()) };",
    by: "const $set = { claim: processId };",
    schedule: "late-commit-after-a-claim-of-the-same-process",
  },
  {
    name: "a reader starts while another of its process may still write",
    world: "sync",
    file: reader,
    replace: "= previousClosed.then(() => undefined);",
    by: "= Promise.resolve(undefined);",
  },
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
    replace: 'batch.announcements.some(({ kind }) => kind === "retire") ||',
    by: "",
  },
  {
    name: "a batch that was decided ahead keeps the epoch of its decision",
    world: "sync",
    file: handler,
    replace: "let ahead = batch.epoch === to.epoch ? batch.decision : undefined;",
    by: "let ahead = batch.decision;",
    isEquivalent: "a batch is prepared and written without a pause between, so in one epoch",
  },
  {
    name: "a violated index fails the batch",
    world: "sync",
    file: handler,
    replace: "error instanceof UniqueViolationError || error instanceof TopicGoneError",
    by: "error instanceof TopicGoneError",
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
    file: "src/storage/topics.ts",
    replace: '      sys_updated_on: topic.updatedOn,\n      "source.kind": topic.source.kind,\n',
    by: "",
    schedule: "topic-adopted-while-it-is-disabled",
  },
  {
    name: "registrations are acknowledged before the store responds",
    world: "registrations",
    file: groupCommit,
    replace: "      waitingCharacters += characters;\n      schedule();",
    by: "      waitingCharacters += characters;\n      done.resolve(undefined);\n      schedule();",
  },
  {
    name: "removals and registrations of a user overtake each other",
    world: "registrations",
    file: groupCommit,
    replace: "if (inFlight.hasConflict(entry.write) || skippedWrites.hasConflict(entry.write)) {",
    by: "if (false) {",
  },
  {
    name: "a write overtakes earlier ones that wait",
    world: "registrations",
    file: groupCommit,
    replace: " || skippedWrites.hasConflict(entry.write)",
    by: "",
  },
  {
    name: "the error of a batch is dropped",
    world: "registrations",
    file: groupCommit,
    replace: "      return () => error;",
    by: "      return () => (error, undefined);",
  },
  {
    name: "a late registration replaces a newer record",
    world: "registrations",
    file: installations,
    replace: ", sys_updated_on: { $not: { $gte: updatedOn } } }",
    by: " }",
  },
  {
    name: "a late registration replaces a record of the same time",
    world: "registrations",
    file: installations,
    replace: "sys_updated_on: { $not: { $gte: updatedOn } }",
    by: "sys_updated_on: { $not: { $gt: updatedOn } }",
    schedule: "late-registration-undoes-a-removal",
  },
  {
    name: "the time of a record goes back when it is deactivated",
    world: "registrations",
    file: "src/storage/installation-records.ts",
    replace: "deactivated_reason: reason },\n  $max: { sys_updated_on: updatedOn },",
    by: "deactivated_reason: reason, sys_updated_on: updatedOn },",
    schedule: "late-registration-undoes-a-removal-by-a-process-whose-clock-is-behind",
  },
  {
    name: "a late removal deactivates a token that was registered again",
    world: "registrations",
    file: installations,
    replace: "q: { _id, token, active: true, sys_updated_on }",
    by: "q: { _id, token, active: true }",
  },
  {
    name: "a removal that finds nothing does not wait for a majority",
    world: "registrations",
    file: "src/storage/database.ts",
    replace: "names.map((name) =>",
    by: "names.slice(names.length).map((name) =>",
  },
  {
    name: "a topic that was read as disabled is acknowledged at once",
    world: "sync",
    file: "src/topics/switch.ts",
    replace: "if (!(await store.confirmReads(primary))) continue;\n          if (last",
    by: "if (last",
  },
  {
    name: "a topic that was read as enabled is acknowledged at once",
    world: "sync",
    file: "src/topics/switch.ts",
    replace: "if (!(await store.confirmReads(primary))) continue;\n          return",
    by: "return",
  },
  {
    name: "a user's removal is not repeated after an election",
    world: "registrations",
    file: installations,
    replace: "if (primary !== database.getPrimary())",
    by: "if (false)",
    schedule: "removal-spares-a-token-that-an-election-reactivates",
  },
  {
    name: "an administrator's removal is not repeated after an election",
    world: "registrations",
    file: "src/storage/database.ts",
    replace: "return primary === topology.getPrimary();",
    by: "return true;",
    schedule: "removal-of-all-spares-a-token-that-an-election-reactivates",
  },
  {
    name: "the producer is initialised after its position was looked up",
    world: "router",
    file: transactions,
    replace:
      "        await initialise();\n        const committed = await whileCompleting(() => requests.fetchStableOffset({ groupId, ...partition }));",
    by: "        const committed = await whileCompleting(() => requests.fetchStableOffset({ groupId, ...partition }));\n        await initialise();",
  },
  {
    name: "a claim does not initialise the producer",
    world: "router",
    file: transactions,
    replace: "ready = await created.transaction();",
    by: "",
  },
  {
    name: "the offsets are not in the transaction",
    world: "router",
    file: transactions,
    replace: "transaction.sendOffsets({",
    by: "({ sendOffsets: () => Promise.resolve() }).sendOffsets({",
  },
  {
    name: "stable offsets are not asked for",
    world: "router",
    file: "src/kafka/protocol/offset-fetch.ts",
    replace: ".boolean(true)",
    by: ".boolean(false)",
  },
  {
    name: "after a rejection the transaction continues",
    world: "router",
    file: transactions,
    replace: "throw rejection === undefined ? error : new RecordRejectedError(rejection);",
    by: "if (rejection === undefined) throw error;\n    for (const [topic, { messages }] of request)\n      for (const message of messages)\n        await transaction.send({ topic, acks: -1, messages: [message] }).catch(() => undefined);",
  },
  {
    name: "kafkajs repeats failed sends",
    world: "router",
    file: transactions,
    replace: "retry: { retries: 0 },",
    by: "",
  },
  {
    name: "a producer that connects late stays connected",
    world: "router",
    file: transactions,
    replace: "      disconnect(created);\n",
    by: "",
  },
  {
    name: "every record of a rejected request is rejected",
    world: "router",
    file: transactions,
    replace: 'if (group.length === 1 || rejection.reason === "denied") {',
    by: "if (group.length > 0) {",
  },
  {
    name: "the router's commit is not awaited",
    world: "router",
    file: events,
    replace: "await transaction.commit();",
    by: "void transaction.commit().catch(() => undefined);",
  },
  {
    name: "dead letters of events have a transaction of their own",
    world: "router",
    file: events,
    replace: "const letters = createDeadLetterSender(transaction, getLetterPartitions(found));",
    by: "await transaction.commit();\n      const own = await transactions.begin(step.to);\n      transaction.commit = () => own.commit();\n      const letters = createDeadLetterSender(own, getLetterPartitions(found));",
  },
  {
    name: "dead letters of events are not sent",
    world: "router",
    file: events,
    replace: "if (rejections.length > 0) {",
    by: "if (rejections.length < 0) {",
  },
  {
    name: "the position moves without the copies",
    world: "router",
    file: events,
    replace: "await transaction.sendAll(copies(held));",
    by: "await transaction.sendAll([]);",
  },
  {
    name: "Kafka topics are named when events are sent",
    world: "router",
    file: "src/routing/plan.ts",
    replace: "    known.set(externalId, found);\n",
    by: "",
  },
  {
    name: "the index is used while it is being reloaded",
    world: "router",
    file: "src/matching/live-topic-index.ts",
    replace: 'getMode() === "live" ? serving()?.pick(event) : undefined',
    by: "serving()?.pick(event)",
  },
];
