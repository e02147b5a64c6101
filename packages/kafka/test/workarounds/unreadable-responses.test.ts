import assert from "node:assert/strict";
import { once } from "node:events";
import { it, type TestContext } from "node:test";

import { repeatAfterUnreadableResponses } from "../../workarounds/connections.ts";
import {
  createConnection,
  createResponse,
  send,
  type Received,
} from "../../../../test/support/kafkajs-connection.ts";

/** The size and the number of the request. */
const headBytes = 8;

/** Sends a request whose response ends too early, but says so with its size. */
async function receiveShort(test: TestContext, bytes: number): Promise<Received> {
  const { connection, open } = await createConnection(test);
  const socket = await open();
  const received = send(connection);
  await once(socket, "data");
  const response = createResponse(0, 1).subarray(0, bytes);
  response.writeInt32BE(bytes - 4);
  socket.write(response);
  return received;
}

it("reports a response that ends too early as a lost connection, which stock kafkajs does not repeat", async (t) => {
  const complete = createResponse(0, 1).length;
  await assert.rejects(receiveShort(t, headBytes + 1), RangeError, "kafkajs no longer needs it");
  const { bytes } = await receiveShort(t, complete - 1);
  assert.equal(String(bytes), "byte", "kafkajs no longer needs it for bytes at the end");

  repeatAfterUnreadableResponses();
  for (let length = headBytes; length < complete; length += 1)
    await assert.rejects(receiveShort(t, length), {
      name: "KafkaJSConnectionError",
      message: /^the response to ApiVersions cannot be read: /,
      retriable: true,
      cause: undefined,
    });
  assert.equal(String((await receiveShort(t, complete)).bytes), "bytes");
});
