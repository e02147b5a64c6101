import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hideAborted, type FetchedMessage } from "../../../../src/kafka/workarounds/aborted-transactions.ts";
import { loadPrivate } from "../../../../src/kafka/workarounds/patch.ts";

const message = (offset: number, producerId: string, inTransaction = true): FetchedMessage => ({
  offset: String(offset),
  key: null,
  isControlRecord: false,
  batchContext: { producerId, inTransaction },
});
const marker = (offset: number, producerId: string, type: "abort" | "commit"): FetchedMessage => ({
  ...message(offset, producerId),
  key: Buffer.from([0, 0, 0, type === "abort" ? 0 : 1]),
  isControlRecord: true,
});

/** The offsets that are delivered. */
function delivered(
  messages: readonly FetchedMessage[],
  aborted: readonly (readonly [string, number])[],
): string[] {
  const abortedTransactions = aborted.map(([producerId, at]) => ({ producerId, firstOffset: String(at) }));
  hideAborted({ messages, abortedTransactions });
  return messages.flatMap(({ isControlRecord, offset }) => (isControlRecord === true ? [] : [offset]));
}

/** The offsets that kafkajs delivers with its own filter alone. */
function deliveredByStock(
  messages: readonly FetchedMessage[],
  aborted: readonly (readonly [string, number])[],
): string[] {
  const abortedTransactions = aborted.map(([producerId, at]) => ({ producerId, firstOffset: String(at) }));
  const filter = loadPrivate("consumer/filterAbortedMessages.js") as (partition: object) => FetchedMessage[];
  return filter({ messages, abortedTransactions }).map(({ offset }) => offset);
}

describe("stock kafkajs needs hideAbortedTransactions: it", () => {
  it("delivers a record of a fetch that begins inside two aborted transactions", () => {
    const messages = [message(9, "b"), message(10, "b")];
    const aborted = [
      ["a", 2],
      ["b", 3],
    ] as const;
    assert.deepEqual(deliveredByStock(messages, aborted), ["9"]);
    assert.deepEqual(delivered(messages, aborted), []);
  });

  it("delivers what follows a record with the key 00000000", () => {
    const messages = [{ ...message(0, "a"), key: Buffer.alloc(4) }, message(1, "a")];
    assert.deepEqual(deliveredByStock(messages, [["a", 0]]), ["0", "1"]);
    assert.deepEqual(delivered(messages, [["a", 0]]), []);
  });
});

describe("hiding aborted transactions", () => {
  it("starts every one that began up to a record, in whatever order they are named", () => {
    const messages = [message(8, "b"), message(9, "a"), message(10, "c"), message(11, "d")];
    const aborted = [
      ["d", 12],
      ["b", 3],
      ["a", 2],
      ["c", 5],
    ] as const;
    assert.deepEqual(delivered(messages, aborted), ["11"]);
  });

  it("ends one by its producer's abort marker alone", () => {
    const zeros = Buffer.alloc(4);
    const messages = [
      { ...message(0, "a"), key: zeros },
      message(1, "a"),
      marker(2, "b", "abort"),
      message(3, "a"),
      marker(4, "a", "abort"),
      message(5, "a"),
      marker(6, "a", "commit"),
    ];
    assert.deepEqual(delivered(messages, [["a", 0]]), ["5"]);
  });

  it("hides what is in a transaction only", () => {
    assert.deepEqual(delivered([message(0, "a"), message(1, "a", false)], [["a", 0]]), ["1"]);
    assert.deepEqual(delivered([{ offset: "0", key: null }, message(1, "b")], [["a", 0]]), ["0", "1"]);
  });
});
