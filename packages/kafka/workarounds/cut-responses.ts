/**
 * Faults of kafkajs 2.2.4, network/connection.js:166 and 513: it connects again with the same object while
 * the former socket may still be open. It takes what it received of a response for the beginning of the next
 * one, and the rest that arrives later as well, and reads every later response wrongly. The end of the former
 * socket ends the new connection. A size that is too small for a response is thrown out of the socket's
 * event, which ends the process.
 * The tests in test/workarounds/cut-responses.test.ts fail when kafkajs no longer needs this.
 */

import type { Socket } from "node:net";

import kafkajs from "kafkajs";

import { getErrorMessage } from "@topicsync/lib/errors";
import { patchMethod } from "./patch.ts";

interface Connection {
  readonly socket?: Socket;
  isConnected(): boolean;
  connect(): Promise<unknown>;
  processData(data: Buffer): unknown;
  rejectRequests(error: Error): void;
}

/** The size of a response, which comes first. */
const sizeBytes = 4;

/** Makes each connection of kafkajs read one socket only, in the whole process. */
export function forgetCutResponses(): void {
  const attempts = new WeakMap<Connection, Promise<unknown>>();
  patchMethod<"connect", Connection>(
    "network/connection.js",
    "connect",
    (connect) =>
      function (this: Connection) {
        if (this.isConnected()) return connect.call(this);
        let attempt = attempts.get(this);
        if (attempt === undefined) {
          leaveSocket(this);
          attempt = connect.call(this).finally(() => attempts.delete(this));
          attempts.set(this, attempt);
        }
        return attempt;
      },
  );
  patchMethod<"processData", Connection>(
    "network/connection.js",
    "processData",
    (processData) =>
      function (this: Connection, data) {
        try {
          return processData.call(this, data);
        } catch (error) {
          // kafkajs rejects the requests that wait for a response, and connects again.
          return this.socket?.destroy(new Error(`a response cannot be read: ${getErrorMessage(error)}`));
        }
      },
  );
}

/** Nothing arrives from a socket that was destroyed, so nothing may wait for it either. */
function leaveSocket(connection: Connection): void {
  connection.socket?.destroy();
  connection.rejectRequests(new kafkajs.KafkaJSConnectionError("Closed connection"));
  Object.assign(connection, { chunks: [], bytesBuffered: 0, bytesNeeded: sizeBytes });
}
