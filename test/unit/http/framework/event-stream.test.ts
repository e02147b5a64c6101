import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, IncomingMessage, ServerResponse, type RequestListener } from "node:http";
import { connect, Socket, type AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";

import { OverloadedError } from "@topicsync/lib/errors";
import { createEventStreams } from "../../../../http/framework/event-stream.ts";
import type { Events } from "../../../../src/operations/framework/operation.ts";
import { until } from "../../../support/poll.ts";

const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const forever: Events = async function* (abort) {
  yield "the first";
  if (!abort.aborted) await once(abort, "abort");
};

/** Connects to a server with this listener. */
async function open(t: TestContext, listener: RequestListener): Promise<Socket> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => {
    socket.destroy();
    server.close();
    server.closeAllConnections();
  });
  return socket;
}

const createSubscription = (events: Events) => ({
  events,
  user: "ann",
  canReadStatus: true,
  isStillAllowed: () => Promise.resolve(true),
});

describe("event streams", () => {
  it("end when the client left before the first event", async (t) => {
    const streams = createEventStreams(new AbortController().signal);
    let isOver = false;
    const socket = await open(t, (_, response) => {
      response.once("close", () => {
        void streams.send(response, createSubscription(forever)).then(() => (isOver = true));
      });
      socket.destroy();
    });
    socket.write(request);
    await until("the stream ended", () => isOver);
  });

  it("leave room for users with a role when users without one open many", async () => {
    const stopping = new AbortController();
    const streams = createEventStreams(stopping.signal);
    const send = (number: number, canReadStatus: boolean): Promise<void> =>
      streams.send(new ServerResponse(new IncomingMessage(new Socket())), {
        ...createSubscription(forever),
        user: `user${Math.floor(number / 10)}`,
        canReadStatus,
      });
    /** Ends at once in either case. */
    const isFull = (number: number, canReadStatus: boolean) =>
      assert.rejects(Promise.race([send(number, canReadStatus), setImmediate()]), OverloadedError);
    const open = Array.from({ length: 150 }, (_, number) => send(number, false));
    await isFull(1_000, false);
    open.push(...Array.from({ length: 50 }, (_, number) => send(2_000 + number, true)));
    await isFull(3_000, true);
    stopping.abort();
    await Promise.all(open);
    await send(4_000, false);
  });

  it("wait for slow clients", async (t) => {
    const streams = createEventStreams(new AbortController().signal);
    const count = 2_000;
    let answer: ServerResponse | undefined;
    let largestBuffer = 0;
    let received = 0;
    const socket = await open(t, (_, response) => {
      answer = response;
      const events: Events = async function* () {
        for (let i = 0; i < count; i += 1) {
          largestBuffer = Math.max(largestBuffer, response.writableLength);
          yield await Promise.resolve("x".repeat(10_000));
        }
      };
      void streams.send(response, createSubscription(events));
    });
    socket.on("data", (bytes) => (received += bytes.length));
    socket.pause();
    socket.write(request);
    await until("it waits", () => answer?.writableNeedDrain === true || answer?.writableEnded === true);
    socket.resume();
    await until("all events arrived", () => received > count * 10_000);
    assert.ok(largestBuffer < 1_000_000, `${largestBuffer} bytes were buffered`);
  });
});
