import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { decodeBatches, findSkippedBatch } from "../../record-format/batch-reader.ts";
import { createRecordBatch, sealBatch } from "../../../../test/support/record-batch.ts";

const mib = 1024 * 1024;
const toOffsets = (messages: readonly { readonly offset: string }[]) => messages.map(({ offset }) => offset);
const large = { value: Buffer.alloc(3 * mib) };
const small = { value: Buffer.from("small") };

describe("decoding fetched batches", () => {
  it("returns every record unchanged", async () => {
    const key = Buffer.from("key");
    const headers = [
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
    ] as const;
    const [first, second] = await decodeBatches(
      createRecordBatch(7, [{ key, value: null, headers }, { value: Buffer.from("v") }]),
      mib,
    );
    assert.deepEqual(
      [first?.offset, first?.timestamp, first?.key, first?.value],
      ["7", "1700000000000", key, null],
    );
    assert.deepEqual(
      first?.headers.map(([name, text]) => [name, String(text)]),
      headers,
    );
    assert.deepEqual(
      [second?.offset, second?.timestamp, second?.key, String(second?.value)],
      ["8", "1700000000001", null, "v"],
    );
  });

  it("returns every timestamp exactly, however far it is from the batch's own", async () => {
    const sizes = [0n, 1n, 63n, 64n, 2n ** 27n - 1n, 2n ** 27n, 2n ** 31n, 2n ** 34n, 2n ** 53n, 2n ** 62n];
    const deltas = sizes.flatMap((delta) => [delta, -delta]);
    for (const timestamp of [1_700_000_000_000n, -1n, 2n ** 53n - 1n, 2n ** 53n + 1n]) {
      const records = deltas.map((delta) => ({ ...small, delta }));
      const messages = await decodeBatches(createRecordBatch(0, records, { timestamp }), mib);
      const expected = deltas.map((delta) => String(timestamp + delta));
      assert.deepEqual(
        messages.map((message) => message.timestamp),
        expected,
      );
    }
  });

  it("returns headers with any name, with an empty value, and without one", async () => {
    const headers = [
      ["constructor", "c"],
      ["__proto__", "p"],
      ["10", "later than it"],
      ["__proto__", "q"],
      ["empty", ""],
      ["none", null],
    ] as const;
    const [message] = await decodeBatches(createRecordBatch(0, [{ ...small, headers }]), mib);
    assert.deepEqual(
      message?.headers.map(([name, text]) => [name, text === null ? null : String(text)]),
      headers,
    );
  });

  it("returns more records than a function takes arguments", async () => {
    const records = Array.from({ length: 200_000 }, () => small);
    const messages = await decodeBatches(createRecordBatch(0, records), 64 * mib);
    assert.equal(messages.length, records.length);
    assert.equal(messages.at(-1)?.offset, "199999");
  });

  it("returns every header of a record with very many", async () => {
    const headers = Array.from({ length: 100_000 }, (_, at) => [`n${at}`, "v"] as const);
    const [message] = await decodeBatches(createRecordBatch(0, [{ ...small, headers }]), 64 * mib);
    assert.equal(message?.headers.length, headers.length);
  });

  it("ends before a truncated batch", async () => {
    const bytes = Buffer.concat([createRecordBatch(0, [small]), createRecordBatch(1, [small])]);
    assert.deepEqual(toOffsets(await decodeBatches(bytes.subarray(0, -1), mib)), ["0"]);
    assert.deepEqual(toOffsets(await decodeBatches(bytes.subarray(0, 20), mib)), []);
  });

  it("leaves a batch to the next fetch if only the total is too large", async () => {
    const bytes = Buffer.concat([
      createRecordBatch(0, [large]),
      createRecordBatch(1, [small]),
      createRecordBatch(2, [large]),
    ]);
    const messages = await decodeBatches(bytes, 4 * mib);
    assert.deepEqual(toOffsets(messages), ["0", "1"]);
    assert.ok(messages.every((message) => findSkippedBatch(message) === undefined));
  });

  it("returns one message at the last offset for a batch that is too large, and nothing after it", async () => {
    const bytes = Buffer.concat([createRecordBatch(5, [small, large, small]), createRecordBatch(8, [small])]);
    const messages = await decodeBatches(bytes, 2 * mib);
    assert.deepEqual(toOffsets(messages), ["7"]);
    const [message] = messages;
    assert.ok(message !== undefined);
    assert.deepEqual([message.key, message.value, message.headers], [null, null, []]);
    assert.equal(message.timestamp, "1700000000002");
    assert.deepEqual(findSkippedBatch(message), {
      firstOffset: 5,
      lastOffset: 7,
      code: "TOO_LARGE",
      reason: "has more than 2097152 bytes when it is decompressed",
    });
  });

  it("counts records as well as bytes", async () => {
    const records = Array.from({ length: 10_000 }, () => ({ value: null }));
    const messages = await decodeBatches(createRecordBatch(0, records), mib);
    assert.deepEqual(toOffsets(messages), ["9999"]);
  });

  it("marks the end of a batch whose last records, or all, were compacted", async () => {
    const bytes = Buffer.concat([
      createRecordBatch(0, [small], { lastOffset: 4 }),
      createRecordBatch(5, [small, small]),
      createRecordBatch(7, [], { lastOffset: 9 }),
    ]);
    const messages = await decodeBatches(bytes, mib);
    const seen = messages.map(({ offset, isControlRecord }) => [offset, isControlRecord]);
    assert.deepEqual(seen, [
      ["0", false],
      ["4", true],
      ["5", false],
      ["6", false],
      ["9", true],
    ]);
  });

  it("returns one message at the last offset for a batch that cannot be decoded, after those before it", async () => {
    const inconsistent = createRecordBatch(1, [small, small]);
    inconsistent.writeInt32BE(3, 57);
    const spoilt = createRecordBatch(1, [small, small]).fill(0xff, 70);
    const unknownCodec = createRecordBatch(1, [small, small], { codec: 7 });
    const tooFew = createRecordBatch(1, [small, small]);
    tooFew.writeInt32BE(1, 57);
    const negative = createRecordBatch(1, [small, small]);
    negative.writeInt32BE(-1, 57);
    const none = createRecordBatch(1, [small, small]);
    none.writeInt32BE(0, 57);
    const outside = createRecordBatch(1, [small, small, small], { lastOffset: 2 });
    for (const bad of [inconsistent, spoilt, unknownCodec, tooFew, negative, none, outside]) {
      const rest = [sealBatch(bad), createRecordBatch(3, [small])];
      const bytes = Buffer.concat([createRecordBatch(0, [small]), ...rest]);
      const messages = await decodeBatches(bytes, mib);
      assert.deepEqual(toOffsets(messages), ["0", "2"]);
      const [, message] = messages;
      assert.ok(message !== undefined);
      const { reason, ...batch } = findSkippedBatch(message) ?? {};
      assert.deepEqual(batch, { firstOffset: 1, lastOffset: 2, code: "UNDECODABLE" });
      assert.match(reason ?? "", /^cannot be decoded: /);
    }
  });

  it("decodes nothing if it is unknown where a batch ends", async () => {
    const tooShort = createRecordBatch(1, [small]);
    tooShort.writeInt32BE(48, 8);
    const backwards = createRecordBatch(1, [small], { lastOffset: 0 });
    const again = createRecordBatch(0, [small]);
    for (const bad of [tooShort, backwards, again]) {
      const bytes = Buffer.concat([createRecordBatch(0, [small]), bad]);
      await assert.rejects(decodeBatches(bytes, mib), RangeError);
    }
  });

  it("skips no marker, without which a transaction's end is unknown", async () => {
    for (const key of [null, Buffer.from([0, 0, 0])]) {
      const marker = createRecordBatch(0, [{ key, value: null }]);
      marker.writeInt16BE(0x31, 21);
      await assert.rejects(decodeBatches(sealBatch(marker), mib), RangeError);
    }
  });

  it("ends before a message of an older format", async () => {
    const older = createRecordBatch(1, [small]);
    older.writeInt8(1, 16);
    const bytes = Buffer.concat([createRecordBatch(0, [small]), older]);
    assert.deepEqual(toOffsets(await decodeBatches(bytes, mib)), ["0"]);
  });

  it("asks once more for a batch with a wrong checksum, and then returns one message for it", async () => {
    const spoilt = createRecordBatch(0, [small], { codec: 0, compress: (records) => records });
    spoilt.writeUInt8(spoilt.readUInt8(spoilt.length - 2) ^ 1, spoilt.length - 2);
    await assert.rejects(decodeBatches(spoilt, mib), RangeError);
    const whole = createRecordBatch(0, [small], { codec: 0, compress: (records) => records });
    assert.equal(String((await decodeBatches(whole, mib))[0]?.value), "small");
    const [message] = await decodeBatches(spoilt, mib);
    assert.ok(message !== undefined);
    assert.deepEqual(findSkippedBatch(message), {
      firstOffset: 0,
      lastOffset: 0,
      code: "UNDECODABLE",
      reason: "cannot be decoded: a batch of records has a wrong checksum",
    });
  });

  it("decodes a batch with any garbled byte, or throws a RangeError", async () => {
    const batch = createRecordBatch(3, [small, { ...small, headers: [["a", "1"]] }], {
      codec: 0,
      compress: (records) => records,
    });
    for (let at = 8; at < batch.length; at += 1)
      for (const byte of [0x00, 0x7f, 0x80, 0xff]) {
        const garbled = Buffer.from(batch);
        garbled[at] = byte;
        const messages = await decodeBatches(sealBatch(garbled), mib).catch((error: unknown) => {
          assert.ok(error instanceof RangeError);
          return [];
        });
        for (const { offset } of messages) assert.ok(Number(offset) >= 3);
      }
  });

  it("counts headers as well as bytes, before it creates any", async (t) => {
    const bytes = createRecordBatch(0, [small, { ...small, furtherHeaders: 2_000_000 }]);
    const toString = t.mock.method(Buffer.prototype, "toString");
    const messages = await decodeBatches(bytes, 64 * mib);
    assert.equal(toString.mock.callCount(), 0, "names of headers that were read");
    assert.deepEqual(toOffsets(messages), ["1"]);
    const [message] = messages;
    assert.equal(message && findSkippedBatch(message)?.code, "TOO_LARGE");
  });

  it("leaves a batch with many headers to the next fetch if only the total is too large", async () => {
    const records = [small, { ...small, furtherHeaders: 6_000 }];
    const bytes = Buffer.concat([createRecordBatch(0, records), createRecordBatch(2, records)]);
    const messages = await decodeBatches(bytes, mib);
    assert.deepEqual(toOffsets(messages), ["0", "1"]);
    assert.ok(messages.every((message) => findSkippedBatch(message) === undefined));
  });

  it("wraps timestamps around as Java does", async () => {
    const timestamp = 2n ** 63n - 1n;
    const [message] = await decodeBatches(
      createRecordBatch(0, [{ ...small, delta: 1n }], { timestamp }),
      mib,
    );
    assert.equal(message?.timestamp, String(-(2n ** 63n)));
  });
});
