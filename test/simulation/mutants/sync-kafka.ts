/** Mistakes around Kafka: what its responses say, and the workarounds for kafkajs. */
import type { Mutant } from "./mutant.ts";

const client = "packages/kafka/client.ts";
const logRequests = "packages/kafka/log-requests.ts";
const fetches = "packages/kafka/workarounds/fetches.ts";
const member = "packages/kafka/member-errors.ts";
const aborted = "packages/kafka/workarounds/aborted-transactions.ts";

const world = "sync";

export const syncKafkaMutants: readonly Mutant[] = [
  {
    name: "a connection that is not set up in time ends the process",
    world,
    file: member,
    replace: "      cause instanceof kafkajs.KafkaJSLockTimeout ||\n",
    by: "",
    schedule: "connection that is not set up in time",
  },
  {
    name: "a member without an id is not told to join",
    world,
    file: "packages/kafka/workarounds/members.ts",
    replace: "!joins.has(group)",
    by: "joins.has(group)",
    schedule: "member that cannot join after its group forgot it",
  },
  {
    name: "commit and abort markers are confused",
    world,
    file: aborted,
    replace: "=== abortType) abortedProducers",
    by: "!== abortType) abortedProducers",
  },
  {
    name: "aborted transactions are taken in the wrong order",
    world,
    file: aborted,
    replace: "other.firstOffset - one.firstOffset",
    by: "one.firstOffset - other.firstOffset",
  },
  {
    name: "records of open transactions are fetched",
    world,
    file: "packages/kafka/protocol/fetch.ts",
    replace: ".int8(isolationLevel)",
    by: ".int8(0)",
  },
  {
    name: "the error of a partition in a fetch is not looked at",
    world,
    file: fetches,
    replace: "  if (memberErrors.has(error)) failOnError(error);\n",
    by: "  if (error !== 0) return undefined;\n",
  },
  {
    name: "an unknown topic id counts as an unforeseen error",
    world,
    file: fetches,
    replace: "const isLost = (code: number): boolean => lostTopicIds.has(code);",
    by: "const isLost = (code: number): boolean => lostTopicIds.has(-code);",
  },
  {
    name: "a lost topic id is not forgotten",
    world,
    file: fetches,
    replace: "for (const { topicId } of isLost(error) ? topics : lost) forget(topicId);",
    by: "",
  },
  {
    name: "a failed look-up of topic ids means that there are none",
    world,
    file: fetches,
    replace: "    failOnError(error);\n    if (topicId === undefined) return false;",
    by: "    if (error !== 0 || topicId === undefined) return false;",
    isEquivalent:
      "the fetch by name that follows tells no topic id, so the reader does not take what it brings",
  },
  {
    name: "an offset out of range is not reported after a fetch by id",
    world,
    file: fetches,
    replace:
      "error === 0 ? await decodeFetched(records) : [createPlaceholder(request, topicName, partition)];",
    by: "error === 0 ? await decodeFetched(records) : [];",
  },
  {
    name: "an offset out of range is not reported after a fetch by name",
    world,
    file: fetches,
    replace: "if (!isOutOfRangeError(error)) throw error;",
    by: "if (error !== undefined) throw error;\n    if (!isOutOfRangeError(error)) return { responses: [] };",
  },
  {
    name: "the end of a compacted batch is not marked",
    world,
    file: "packages/kafka/record-format/batch-reader.ts",
    replace: "if (messages.at(-1)?.offset !== String(batch.lastOffset)) messages.push(markEnd(batch));",
    by: "",
  },
  {
    name: "what kafkajs filters is not delivered",
    world,
    file: client,
    replace: "  deliverEmptyBatches();\n",
    by: "",
  },
  {
    name: "kafkajs asks for all topics when it needs brokers",
    world,
    file: client,
    replace: "  keepLeaderlessPartitions();\n",
    by: "",
  },
  {
    name: "a member that is given a partition that is gone ends",
    world,
    file: client,
    replace: "  rejoinWithoutPartitions();\n",
    by: "",
  },
  {
    name: "denials of groups are not recognised",
    world,
    file: "packages/kafka/consumer.ts",
    replace: "  throwGroupDenials(kafka);\n",
    by: "",
  },
  {
    name: "the bounds of a log are those of its name",
    world,
    file: logRequests,
    replace: "const bounds = await proof.catch(",
    by: "void proof.catch(() => undefined);\n    const bounds = await listOffsetsAt(broker, topic, { ...named, timestamp: earliest }).then(([[, low] = [0, 0]]) => ({ low, high })).catch(",
  },
  {
    name: "the error of the proof of bounds is not looked at",
    world,
    file: logRequests,
    replace: "if (error !== 0 || fetched === undefined || fetched.error !== 0)",
    by: "if (fetched === undefined)",
  },
  {
    name: "the start of a log counts as 0",
    world,
    file: logRequests,
    replace: "return { low: Number(fetched.logStartOffset), high",
    by: "return { low: 0, high",
  },
  {
    name: "a leader that lost its leadership is asked",
    world,
    file: logRequests,
    replace: "if (found.leader !== leader) failOnError(errorCodes.notLeader);",
    by: "",
    isEquivalent: "a broker that knows of its successor rejects the requests that follow",
  },
  {
    name: "one broker that agrees on a log is enough",
    world,
    file: logRequests,
    replace: "views.every((view)",
    by: "views.some((view)",
    schedule: "former leader that does not know of the next",
  },
  {
    name: "a minority of the brokers agrees on a log",
    world,
    file: logRequests,
    replace: "views.length * 2 > brokers.length &&",
    by: "brokers.length > 0 &&",
    schedule: "former leader while the next cannot be asked",
  },
];
