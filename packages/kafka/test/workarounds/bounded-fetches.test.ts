import assert from "node:assert/strict";
import { it } from "node:test";

import { boundFetches } from "../../workarounds/bounded-fetches.ts";
import { findSkippedBatch } from "../../record-format/batch-reader.ts";
import { loadPrivate } from "../../workarounds/patch.ts";
import { createRecordBatch } from "../../../../test/support/record-batch.ts";

interface Message {
  readonly value: Buffer | null;
}
type Decode = (decoder: object) => Promise<readonly Message[]>;

const mib = 1024 * 1024;
const decodePath = "protocol/requests/fetch/v4/decodeMessages.js";
const Decoder = loadPrivate("protocol/decoder.js") as new (bytes: Buffer) => object;

/** Returns a response with a batch of 8 MiB of zeros, compressed to some kilobytes. */
function createResponse(): object {
  const batch = createRecordBatch(0, [{ value: Buffer.alloc(8 * mib) }]);
  const length = Buffer.alloc(4);
  length.writeInt32BE(batch.length);
  return new Decoder(Buffer.concat([length, batch]));
}

it("skips a batch beyond the limit, which stock kafkajs decompresses regardless of its size", async () => {
  const [stock] = await (loadPrivate(decodePath) as Decode)(createResponse());
  assert.equal(stock?.value?.length, 8 * mib, "kafkajs no longer needs boundFetches");

  boundFetches(mib);
  const [bounded] = await (loadPrivate(decodePath) as Decode)(createResponse());
  assert.equal(bounded?.value, null);
  assert.equal(findSkippedBatch(bounded)?.code, "TOO_LARGE");
});
