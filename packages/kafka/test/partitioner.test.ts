import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";
import kafkajs from "kafkajs";

import { choosePartition } from "../partitioner.ts";

describe("choosePartition", () => {
  it("chooses as the partitioner of kafkajs", () => {
    const choose = kafkajs.Partitioners.DefaultPartitioner();
    const key = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(key, fc.integer({ min: 1, max: 1_000 }), (one, partitions) => {
        const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
          partitionId,
          partitionErrorCode: 0,
          leader: 0,
          replicas: [],
          isr: [],
        }));
        const expected = choose({ topic: "", partitionMetadata, message: { key: one, value: null } });
        assert.equal(choosePartition(one, partitions), expected);
      }),
    );
  });

  it("chooses as Kafka's Java clients", () => {
    // From UtilsTest of Apache Kafka: murmur2 of "21", "foobar" and "a-little-bit-long-string".
    for (const [key, hash] of [
      ["21", -973932308],
      ["foobar", -790332482],
      ["a-little-bit-long-string", -985981536],
    ] as const)
      assert.equal(choosePartition(Buffer.from(key), 2 ** 31 - 1), (hash & 0x7fffffff) % (2 ** 31 - 1));
  });
});
