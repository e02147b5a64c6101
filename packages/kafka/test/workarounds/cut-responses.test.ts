import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { describe, it } from "node:test";

import kafkajs, { type ISocketFactory } from "kafkajs";

import { createRequests } from "../../requests.ts";
import { createCluster } from "../../workarounds/clusters.ts";
import { forgetCutResponses, stopIdleChecks } from "../../workarounds/connections.ts";
import { createConnection, createResponse, send } from "../../../../test/support/kafkajs-connection.ts";
import { until } from "../../../../test/support/poll.ts";
import { sharedStack } from "../../../../test/support/stack.ts";

stopIdleChecks();

let isCutting = false;

/** Opens connections that break after the first bytes of a response while `isCutting` is set. */
const socketFactory: ISocketFactory = ({ host, port, onConnect }) => {
  const socket = connect({ host, port }, onConnect);
  const emit = socket.emit.bind(socket) as (event: string, ...args: unknown[]) => boolean;
  socket.emit = ((event: string, ...args: unknown[]): boolean => {
    const [chunk] = args;
    if (event !== "data" || !isCutting || !Buffer.isBuffer(chunk)) return emit(event, ...args);
    isCutting = false;
    emit("data", chunk.subarray(0, 10));
    socket.destroy(new Error("cut"));
    return true;
  }) as Socket["emit"];
  return socket;
};

/** Makes a request whose response is cut, and returns whether the next one is responded to. */
async function asksAgain(requestTimeout: number): Promise<boolean> {
  const kafka = new kafkajs.Kafka({
    brokers: [sharedStack().kafka],
    logLevel: kafkajs.logLevel.NOTHING,
    requestTimeout,
    retry: { retries: 0 },
    socketFactory,
  });
  const requests = createRequests(() => createCluster(kafka, () => undefined));
  try {
    await requests.fetchMetadata([]);
    isCutting = true;
    const { brokers } = await requests.fetchMetadata([]);
    return brokers.length > 0;
  } catch {
    return false;
  } finally {
    await requests.close();
  }
}

describe("a connection of kafkajs", () => {
  it("reads the response after one that was cut, which stock kafkajs appends to its beginning", async () => {
    assert.equal(await asksAgain(1_000), false, "kafkajs no longer needs forgetCutResponses");
    forgetCutResponses();
    assert.equal(await asksAgain(60_000), true);
  });

  it("reads nothing from a former socket that is still open", async (t) => {
    const { connection, open } = await createConnection(t);
    const former = await open();
    const given = send(connection);
    const response = createResponse(0, 1);
    former.write(response.subarray(0, 7));
    await until("the first bytes have arrived", () => connection.bytesBuffered === 7);
    connection.rejectRequests(new Error("given up"));
    await assert.rejects(given, { message: "given up" });
    await connection.disconnect();

    const socket = await open();
    former.end(response.subarray(7));
    const next = send(connection);
    await once(socket, "data");
    socket.write(createResponse(1, 2));
    assert.equal((await next).number, 2);
  });

  it("opens one socket for several requests at once", async (t) => {
    const { connection, open } = await createConnection(t);
    const [socket] = await Promise.all([open(), connection.connect(), connection.connect()]);
    const next = send(connection);
    await once(socket, "data");
    socket.write(createResponse(0, 1));
    assert.equal((await next).number, 1);
  });

  it("rejects what it waits for, and connects again, after a size that no response can have", async (t) => {
    const { connection, open } = await createConnection(t);
    for (const size of [-20, -4, -1, 0, 3]) {
      const socket = await open();
      const next = send(connection);
      await once(socket, "data");
      const response = Buffer.alloc(20);
      response.writeInt32BE(size);
      socket.write(response);
      await assert.rejects(next, { name: "KafkaJSConnectionError", retriable: true });
      await connection.disconnect();
    }
  });
});
