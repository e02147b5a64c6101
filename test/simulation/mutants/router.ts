import type { Mutant } from "./mutant.ts";

const transactions = "src/kafka/transactions.ts";
const events = "consumers/events/handler.ts";
const index = "src/matching/live-topic-index.ts";
const feed = "src/storage/topic-feed.ts";

export const routerMutants: readonly Mutant[] = [
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
    replace: "const transaction = await created.transaction();",
    by: "const transaction = undefined;",
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
    name: "the connections of a producer that is dropped are not closed",
    world: "router",
    file: transactions,
    replace: "    closeConnections();\n",
    by: "",
    schedule: "producer-of-a-closed-reader-connects-once-more",
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
  {
    name: "acknowledgements by partition are not checked",
    world: "router",
    file: transactions,
    replace: "    checkAcknowledged(request, acknowledged);\n",
    by: "",
  },
  {
    name: "markers of commits and aborts are confused",
    world: "router",
    file: "src/kafka/workarounds/aborted-transactions.ts",
    replace: "const abortType = 0;",
    by: "const abortType = 1;",
  },
  {
    name: "the error of a partition in OffsetFetch is not looked at",
    world: "router",
    file: "src/kafka/protocol/offset-fetch.ts",
    replace: "            failOnError(reader.int16());\n            reader.end();",
    by: "            reader.int16();\n            reader.end();",
  },
  {
    name: "a member that lost the response with its partitions keeps its generation",
    world: "router",
    file: "src/kafka/workarounds/failed-syncs.ts",
    replace: "          this.generationId = noGeneration;\n",
    by: "",
    schedule: "member-that-lost-the-response-with-its-partitions",
  },
  {
    name: "every change of a topic is taken for the echo of an own write",
    world: "router",
    file: index,
    replace: "if (updatedOn === undefined || ownWrites.get(externalId) !== updatedOn) return true;",
    by: "if (updatedOn === undefined) return true;",
  },
  {
    name: "a replaced topic is not read again",
    world: "router",
    file: feed,
    replace: '["insert", "replace", "update"]',
    by: '["insert"]',
  },
  {
    name: "a retired topic is not read again",
    world: "router",
    file: feed,
    replace: "[collections.topics, collections.retiredTopics].map((name)",
    by: "[collections.topics].map((name)",
  },
];
