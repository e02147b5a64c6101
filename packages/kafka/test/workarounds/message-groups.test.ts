import assert from "node:assert/strict";
import { it } from "node:test";

import type { Message } from "kafkajs";

import { setGroups } from "../../workarounds/produce-encoder.ts";
import { loadPrivate } from "../../workarounds/patch.ts";

it("kafkajs takes the groups of messages as they were set", () => {
  const groupMessages = loadPrivate("producer/groupMessagesPerPartition.js") as (options: object) => unknown;
  const messages = [{ value: "a" }, { value: "b" }] satisfies Message[];
  const group = (given: readonly Message[]): unknown =>
    groupMessages({ topic: "t", partitionMetadata: [{}], messages: given, partitioner: () => 3 });
  const groups = { 3: [...messages] };
  assert.deepEqual(group(messages), groups);
  assert.equal(group(setGroups(messages, groups)), groups);
});
