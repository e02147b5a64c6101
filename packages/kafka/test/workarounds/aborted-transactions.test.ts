import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hideAborted, type FetchedMessage } from "../../workarounds/aborted-transactions.ts";
import { loadPrivate } from "../../workarounds/patch.ts";

const createMessage = (offset: number, producerId: string, inTransaction = true): FetchedMessage => ({
  offset: String(offset),
  key: null,
  isControlRecord: false,
  batchContext: { producerId, inTransaction },
});
const createMarker = (offset: number, producerId: string, type: "abort" | "commit"): FetchedMessage => ({
  ...createMessage(offset, producerId),
  key: Buffer.from([0, 0, 0, type === "abort" ? 0 : 1]),
  isControlRecord: true,
});

function listDelivered(
  messages: readonly FetchedMessage[],
  aborted: readonly (readonly [string, number])[],
): string[] {
  const abortedTransactions = aborted.map(([producerId, at]) => ({ producerId, firstOffset: String(at) }));
  hideAborted({ messages, abortedTransactions });
  return messages.flatMap(({ isControlRecord, offset }) => (isControlRecord === true ? [] : [offset]));
}

function listDeliveredByStock(
  messages: readonly FetchedMessage[],
  aborted: readonly (readonly [string, number])[],
): string[] {
  const abortedTransactions = aborted.map(([producerId, at]) => ({ producerId, firstOffset: String(at) }));
  const filter = loadPrivate("consumer/filterAbortedMessages.js") as (partition: object) => FetchedMessage[];
  return filter({ messages, abortedTransactions }).map(({ offset }) => offset);
}

describe("stock kafkajs needs hideAborted: it", () => {
  it("delivers a record of a fetch that begins inside two aborted transactions", () => {
    const messages = [createMessage(9, "b"), createMessage(10, "b")];
    const aborted = [
      ["a", 2],
      ["b", 3],
    ] as const;
    assert.deepEqual(listDeliveredByStock(messages, aborted), ["9"]);
    assert.deepEqual(listDelivered(messages, aborted), []);
  });

  it("delivers the records after one with the key 00000000", () => {
    const messages = [{ ...createMessage(0, "a"), key: Buffer.alloc(4) }, createMessage(1, "a")];
    assert.deepEqual(listDeliveredByStock(messages, [["a", 0]]), ["0", "1"]);
    assert.deepEqual(listDelivered(messages, [["a", 0]]), []);
  });
});

describe("hiding aborted transactions", () => {
  it("starts every one that began before a record, in any order", () => {
    const messages = [
      createMessage(8, "b"),
      createMessage(9, "a"),
      createMessage(10, "c"),
      createMessage(11, "d"),
    ];
    const aborted = [
      ["d", 12],
      ["b", 3],
      ["a", 2],
      ["c", 5],
    ] as const;
    assert.deepEqual(listDelivered(messages, aborted), ["11"]);
  });

  it("ends one only by the abort marker of its producer", () => {
    const zeros = Buffer.alloc(4);
    const messages = [
      { ...createMessage(0, "a"), key: zeros },
      createMessage(1, "a"),
      createMarker(2, "b", "abort"),
      createMessage(3, "a"),
      createMarker(4, "a", "abort"),
      createMessage(5, "a"),
      createMarker(6, "a", "commit"),
    ];
    assert.deepEqual(listDelivered(messages, [["a", 0]]), ["5"]);
  });

  it("hides only records of transactions", () => {
    assert.deepEqual(listDelivered([createMessage(0, "a"), createMessage(1, "a", false)], [["a", 0]]), ["1"]);
    assert.deepEqual(listDelivered([{ offset: "0", key: null }, createMessage(1, "b")], [["a", 0]]), [
      "0",
      "1",
    ]);
  });
});
