import assert from "node:assert/strict";
import { it } from "node:test";

import type { Message } from "kafkajs";

import { toMessages } from "../../workarounds/produce-encoder.ts";
import { loadPrivate } from "../../workarounds/patch.ts";

it("kafkajs takes messages that are grouped already", () => {
  const groupMessages = loadPrivate("producer/groupMessagesPerPartition.js") as (options: object) => unknown;
  const messages = [{ value: "a" }, { value: "b" }] satisfies Message[];
  const group = (given: readonly Message[]): unknown =>
    groupMessages({ topic: "t", partitionMetadata: [{}], messages: given, partitioner: () => 3 });
  const groups = { 3: [...messages] };
  assert.deepEqual(group(messages), groups);
  assert.equal(group(toMessages(groups)), groups);
});
