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
    replace: "await options.session?.commitTransaction();",
    by: "void options.session?.commitTransaction().catch(() => undefined);",
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
    replace: "      handleWriteFailure(error);\n      return { prepared, to };",
    by: "      void error;",
  },
  {
    name: "after a failed write the next one follows without a claim",
    world: "sync",
    file: reader,
    replace: "    pause(getErrorMessage(error), cause);\n  }\n\n  /** Where",
    by: "  }\n\n  /** Where",
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
    replace: "if (isClosed() || isPaused() || !batch.isCurrent()) return;",
    by: "",
    isEquivalent:
      "a member joins again only after its batches, and the position is compared if another one has moved it",
  },
  {
    name: "a suspicion counts as proof of a new log",
    world: "sync",
    file: reader,
    replace: "          startExamination(suspicious);\n          return;",
    by: '          findings = { ...nothingFound, endedEpoch: next.epoch };\n          pause("the log is a new one");\n          return;',
  },
  {
    name: "a log that ends before the position counts as a new one",
    world: "sync",
    file: startPosition,
    replace: "stored.epoch <= findings.endedEpoch || (isCut && stored.newest === undefined)",
    by: "stored.epoch <= findings.endedEpoch || isCut",
  },
  {
    name: "nothing proves a new log",
    world: "sync",
    file: startPosition,
    replace: "(getTimestampMs(record) ?? 0) > newest;",
    by: "(getTimestampMs(record) ?? 0) > newest + 1e15;",
  },
  {
    name: "the newest timestamp is not remembered",
    world: "sync",
    file: startPosition,
    replace: "(newest === undefined || timestamp > newest)",
    by: "newest === undefined",
  },
  {
    name: "a new log keeps the epoch",
    world: "sync",
    file: startPosition,
    replace: "position: { offset: low, epoch: stored.epoch + 1, newest: nothingApplied },",
    by: "position: { offset: low, epoch: stored.epoch, newest: nothingApplied },",
  },
  {
    name: "nothing is known of an epoch in which nothing was applied",
    world: "sync",
    file: startPosition,
    replace: "return { position: { offset: low, epoch: 1, newest: nothingApplied }, fetchFrom: low };",
    by: "return { position: { offset: low, epoch: 1 }, fetchFrom: low };",
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
    replace: "= options.previousClosed.then(() => undefined);",
    by: "= Promise.resolve(undefined);",
  },
  {
    name: "skipped ranges do not move the position",
    world: "sync",
    file: reader,
    replace: "if (isPaused() || isClosed() || end < next.offset) return;",
    by: "if (end > 0) return;",
  },
  {
    name: "skipped ranges after removed records do not move the position",
    world: "sync",
    file: reader,
    replace: "if (isPaused() || isClosed() || end < next.offset) return;",
    by: "if (isPaused() || isClosed() || end < next.offset || first > next.offset) return;",
  },
  {
    name: "what was examined before a claim counts as examined after it",
    world: "sync",
    file: reader,
    replace: "findings = { ...findings, examinedTo: 0 };",
    by: "",
    schedule: "two-new-logs-while-a-partition-is-paused",
  },
  {
    name: "no new log is looked for while nothing arrives",
    world: "sync",
    file: reader,
    replace: "checkWhileIdle().catch(onFailed);",
    by: "void checkWhileIdle;",
    schedule: "new-log-that-ends-at-the-position",
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
    replace: ", sys_updated_on: { $not: { $gt: updatedOn } } }",
    by: " }",
  },
  {
    name: "a late removal deactivates a token that was registered again",
    world: "registrations",
    file: installations,
    replace: "q: { application, platform, user, active: true, ...notSeenSince(lastSeen) }",
    by: "q: { application, platform, user, active: true }",
  },
  {
    name: "a late replacement deactivates a token that was registered again",
    world: "registrations",
    file: installations,
    replace: "const q = { ...key, token: previousToken, user, active: true, ...notSeenSince(lastSeen) };",
    by: "const q = { ...key, token: previousToken, user, active: true };",
  },
  {
    name: "a removal that finds nothing does not wait for a majority",
    world: "registrations",
    file: "src/storage/database.ts",
    replace:
      'await db.collection(collections.topics).updateMany({ _id: { $in: [] } }, { $unset: { unused: "" } });',
    by: "",
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
    replace: "return readFrom === primary;",
    by: "return true;",
    schedule: "removal-of-all-spares-a-token-that-an-election-reactivates",
  },
  {
    name: "the producer is initialised after its position was looked up",
    world: "router",
    file: transactions,
    replace:
      "        await initialise();\n        const committed = await whileCompleting(() => offsets.fetch({ groupId, ...partition }));",
    by: "        const committed = await whileCompleting(() => offsets.fetch({ groupId, ...partition }));\n        await initialise();",
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
    file: "src/kafka/workarounds/stable-offsets.ts",
    replace: ".writeBoolean(true)",
    by: ".writeBoolean(false)",
  },
  {
    name: "after a rejection the transaction continues",
    world: "router",
    file: transactions,
    replace: "throw rejection === undefined ? error : new RecordRejectedError(rejection);",
    by: "if (rejection === undefined) throw error;\n    for (const { topic, messages } of topicMessages)\n      for (const message of messages)\n        await transaction.send({ topic, acks: -1, messages: [message] }).catch(() => undefined);",
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
    replace: "if (group.length === 1) {\n        results.set(first, { rejection });",
    by: "if (group.length > 0) {\n        for (const record of group) results.set(record, { rejection });",
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
    replace: "const letters = await createDeadLetterSender(transaction);",
    by: "await transaction.commit();\n      const own = await transactions.begin(to);\n      transaction.commit = () => own.commit();\n      const letters = await createDeadLetterSender(own);",
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
    replace: "await transaction.sendAll(copies());",
    by: "await transaction.sendAll([]);",
  },
  {
    name: "Kafka topics are named when events are sent",
    world: "router",
    file: events,
    replace: "const { plan } = routes;",
    by: "const plan = planRoutes(routes.events, { ...options, getNamespace: index.getNamespace });",
  },
  {
    name: "the index is used while it is being reloaded",
    world: "router",
    file: "src/matching/live-topic-index.ts",
    replace: 'getMode() === "live" ? serving()?.pick(event) : undefined',
    by: "serving()?.pick(event)",
  },
];
