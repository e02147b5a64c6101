/** Compares the simulated broker's messages with kafkajs' own encoders and decoders. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { loadPrivate } from "@topicsync/kafka/internals";
import { readRequest, writeResponse } from "../wire/frames.ts";
import { messages, type MessageName, type Response } from "../wire/messages.ts";

interface Protocol {
  readonly request: { readonly encode: () => Promise<{ readonly buffer: Buffer }> };
  readonly response: { readonly decode: (bytes: Buffer) => Promise<unknown> };
}
interface Definitions {
  readonly protocol: (query: { readonly version: number }) => (options: object) => Protocol;
}

const getProtocol = (folder: string, version: number, options: object): Protocol =>
  (loadPrivate(`protocol/requests/${folder}/index.js`) as Definitions).protocol({ version })(options);

const headerBytes = 8;

/** The frame of a request, as kafkajs' connections write it. */
async function encode(name: MessageName, { request }: Protocol): Promise<Buffer> {
  const { key, version } = messages[name];
  const header = Buffer.alloc(headerBytes + 2);
  header.writeInt16BE(key, 0);
  header.writeInt16BE(version, 2);
  header.writeInt32BE(7, 4);
  header.writeInt16BE(-1, headerBytes);
  return Buffer.concat([header, (await request.encode()).buffer]);
}

/** Every number and text in a structure, in the order in which it is on the wire. */
function listLeaves(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (Buffer.isBuffer(value)) return [value.toString("hex")];
  // oxlint-disable-next-line typescript/no-base-to-string -- kafkajs' 64-bit numbers have their own text.
  if (typeof value !== "object" || "toInt" in value) return [String(value)];
  return Object.values(value).flatMap(listLeaves);
}

/**
 * Reads what kafkajs wrote, and lets it read what the broker writes: every given value must arrive, in order.
 */
async function checkRoundTrip<Name extends MessageName>(
  name: Name,
  sent: { readonly folder: string; readonly options: object; readonly body: object },
  response: Response<Name>,
): Promise<void> {
  const protocol = getProtocol(sent.folder, messages[name].version, sent.options);
  const read = readRequest(await encode(name, protocol));
  assert.equal(read.name, name);
  assert.deepEqual(JSON.parse(JSON.stringify(read.body)), sent.body);
  const decoded = await protocol.response.decode(writeResponse(name, 7, response).subarray(headerBytes));
  const leaves = listLeaves(decoded);
  // kafkajs has the throttle time under two names, not in its place.
  const { throttle, ...rest } = response as { readonly throttle: number | undefined };
  if (throttle !== undefined) assert.ok(leaves.includes(String(throttle)));
  let at = 0;
  for (const leaf of listLeaves(rest)) {
    at = leaves.indexOf(leaf, at) + 1;
    assert.notEqual(at, 0, `${leaf} is missing in ${JSON.stringify(leaves)}`);
  }
}

const identity = { transactionalId: "t", producerId: 5, producerEpoch: 6 };
const topics = [{ topic: "a", partitions: [{ partition: 21, error: 22 }] }];

describe("the messages of the simulated broker", () => {
  it("are those of kafkajs: topics", async () => {
    await checkRoundTrip(
      "metadata6",
      {
        folder: "metadata",
        options: { topics: ["a"], allowAutoTopicCreation: false },
        body: { topics: ["a"], allowAutoTopicCreation: false },
      },
      {
        throttle: 11,
        brokers: [{ nodeId: 12, host: "h", port: 13, rack: "r" }],
        clusterId: "c",
        controllerId: 14,
        topics: [
          {
            error: 15,
            topic: "a",
            isInternal: false,
            partitions: [{ error: 16, partition: 17, leader: 18, replicas: [19], isr: [20], offline: [21] }],
          },
        ],
      },
    );
    await checkRoundTrip(
      "listOffsets3",
      {
        folder: "listOffsets",
        options: {
          replicaId: -1,
          isolationLevel: 1,
          topics: [{ topic: "a", partitions: [{ partition: 2, timestamp: 3 }] }],
        },
        body: {
          replicaId: -1,
          isolationLevel: 1,
          topics: [{ topic: "a", partitions: [{ partition: 2, timestamp: 3 }] }],
        },
      },
      {
        throttle: 11,
        topics: [{ topic: "a", partitions: [{ partition: 12, error: 13, timestamp: 14, offset: 15 }] }],
      },
    );
  });

  it("are those of kafkajs: groups", async () => {
    await checkRoundTrip(
      "findCoordinator2",
      {
        folder: "findCoordinator",
        options: { groupId: "g", coordinatorType: 1 },
        body: { key: "g", type: 1 },
      },
      { throttle: 11, error: 12, errorMessage: "m", nodeId: 13, host: "h", port: 14 },
    );
    await checkRoundTrip(
      "heartbeat3",
      {
        folder: "heartbeat",
        options: { groupId: "g", groupGenerationId: 3, memberId: "m" },
        body: { groupId: "g", generation: 3, memberId: "m", groupInstanceId: null },
      },
      { throttle: 11, error: 12 },
    );
    await checkRoundTrip(
      "offsetCommit5",
      {
        folder: "offsetCommit",
        options: {
          ...{ groupId: "g", groupGenerationId: 3, memberId: "m" },
          topics: [{ topic: "a", partitions: [{ partition: 2, offset: 4, metadata: "d" }] }],
        },
        body: {
          ...{ groupId: "g", generation: 3, memberId: "m" },
          topics: [{ topic: "a", partitions: [{ partition: 2, offset: 4, metadata: "d" }] }],
        },
      },
      { throttle: 11, topics },
    );
  });

  it("are those of kafkajs: transactions", async () => {
    await checkRoundTrip(
      "initProducerId1",
      {
        folder: "initProducerId",
        options: { transactionalId: "t", transactionTimeout: 9 },
        body: { transactionalId: "t", transactionTimeout: 9 },
      },
      { throttle: 11, error: 12, producerId: 13, producerEpoch: 14 },
    );
    await checkRoundTrip(
      "addPartitionsToTxn1",
      {
        folder: "addPartitionsToTxn",
        options: { ...identity, topics: [{ topic: "a", partitions: [2] }] },
        body: { ...identity, topics: [{ topic: "a", partitions: [2] }] },
      },
      { throttle: 11, topics },
    );
    await checkRoundTrip(
      "endTxn1",
      {
        folder: "endTxn",
        options: { ...identity, transactionResult: true },
        body: { ...identity, commit: true },
      },
      { throttle: 11, error: 12 },
    );
    await checkRoundTrip(
      "txnOffsetCommit1",
      {
        folder: "txnOffsetCommit",
        options: {
          ...identity,
          groupId: "g",
          topics: [{ topic: "a", partitions: [{ partition: 2, offset: 4, metadata: "d" }] }],
        },
        body: {
          ...identity,
          groupId: "g",
          topics: [{ topic: "a", partitions: [{ partition: 2, offset: 4, metadata: "d" }] }],
        },
      },
      { throttle: 11, topics },
    );
  });
});
