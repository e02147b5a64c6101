import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { it } from "node:test";

import kafkajs, { type ISocketFactory } from "kafkajs";

import { createRequests } from "../../../../src/kafka/requests.ts";
import { createCluster } from "../../../../src/kafka/workarounds/clusters.ts";
import { forgetCutResponses } from "../../../../src/kafka/workarounds/cut-responses.ts";
import { stopIdleChecks } from "../../../../src/kafka/workarounds/request-queue.ts";
import { sharedStack } from "../../../support/stack.ts";

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

it("reads the response after one that was cut, which stock kafkajs appends to its beginning", async () => {
  assert.equal(await asksAgain(1_000), false, "kafkajs no longer needs forgetCutResponses");
  forgetCutResponses();
  assert.equal(await asksAgain(60_000), true);
});
