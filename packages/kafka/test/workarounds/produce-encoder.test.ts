import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";
import type { Message } from "kafkajs";

import { loadPrivate } from "../../workarounds/patch.ts";
import {
  encodeProduceRequest,
  encodeRequestsAtOnce,
  type ProduceOptions,
  type ProduceProtocol,
} from "../../workarounds/produce-encoder.ts";

/** Creates requests of the version that kafkajs sends to today's brokers. */
function loadRequest() {
  const { protocol } = loadPrivate("protocol/requests/produce/index.js") as ProduceProtocol;
  const create = protocol({ version: 7 });
  return (options: ProduceOptions) => create(options).request;
}

const buffer = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const text = fc.string({ unit: "binary", maxLength: 80 });
const field = fc.oneof(buffer, text, fc.constant(null));
const header = fc.oneof(buffer, text);
// kafkajs sorts times as texts, and adds -1 to others of a batch, which the broker then rejects.
const timestamp = fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 }).map(String);

const message: fc.Arbitrary<Message> = fc.record({
  key: field,
  value: field,
  timestamp,
  headers: fc.dictionary(text, fc.oneof(header, fc.array(header, { maxLength: 3 })), { maxKeys: 4 }),
});

const request: fc.Arbitrary<ProduceOptions> = fc.record({
  acks: fc.constantFrom(-1, 0, 1),
  timeout: fc.nat(),
  transactionalId: fc.oneof(text, fc.constant(null)),
  producerId: fc.maxSafeNat().map(String),
  producerEpoch: fc.nat({ max: 32_767 }),
  topicData: fc.array(
    fc.record({
      topic: text,
      partitions: fc.array(
        fc.record({
          partition: fc.nat(),
          firstSequence: fc.nat(),
          messages: fc.array(message, { minLength: 1, maxLength: 5 }),
        }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 3 },
  ),
});

describe("encodeProduceRequest", () => {
  it("encodes as kafkajs", async () => {
    const createRequest = loadRequest();
    await fc.assert(
      fc.asyncProperty(request, async (options) => {
        const { buffer: expected } = await createRequest(options).encode();
        assert.equal(encodeProduceRequest(options).toString("hex"), expected.toString("hex"));
      }),
      { numRuns: 500 },
    );
  });

  it("encodes the time of sending where a message has none", () => {
    const encode = (...messages: readonly Message[]): Buffer =>
      encodeProduceRequest({
        acks: -1,
        timeout: 1,
        topicData: [{ topic: "events", partitions: [{ partition: 0, messages }] }],
      });
    const before = Date.now();
    const encoded = encode({ value: "a" });
    const [recordBytes, fromTimestampToRecords] = [8, 34];
    const sentOn = Number(encoded.readBigInt64BE(encoded.length - recordBytes - fromTimestampToRecords));
    assert.ok(sentOn >= before && sentOn <= Date.now(), String(sentOn));
  });

  it("replaces the encoder of kafkajs, which creates a buffer for every field, except with compression", async () => {
    const partitions = [{ partition: 0, messages: [{ value: "value", timestamp: "1" }] }];
    const options = { acks: -1, timeout: 1, topicData: [{ topic: "events", partitions }] };
    const createRequest = loadRequest();
    const original = await createRequest(options).encode();
    assert.equal(original.constructor.name, "Encoder", "kafkajs no longer needs encodeRequestsAtOnce");
    encodeRequestsAtOnce();
    const createFast = loadRequest();
    const fast = await createFast(options).encode();
    assert.equal(fast.constructor.name, "Object");
    assert.deepEqual(fast.buffer, original.buffer);
    const gzip = 1;
    assert.equal((await createFast({ ...options, compression: gzip }).encode()).constructor.name, "Encoder");
  });
});
