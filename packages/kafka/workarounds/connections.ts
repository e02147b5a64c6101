/**
 * Faults of the connections of kafkajs 2.2.4. Each is corrected in the whole process, and a test in
 * test/workarounds fails when kafkajs no longer needs it.
 */

import type { Socket } from "node:net";

import kafkajs from "kafkajs";

import { getErrorMessage } from "@topicsync/lib/errors";
import { patchMethod } from "./patch.ts";

interface Protocol {
  readonly request: { readonly apiName: string };
  readonly response: {
    readonly decode: (payload: Buffer) => Promise<object>;
    readonly parse: (decoded: object) => Promise<unknown>;
  };
}

interface Connection {
  readonly socket?: Socket;
  isConnected(): boolean;
  connect(): Promise<unknown>;
  send(protocol: Protocol): Promise<unknown>;
  processData(data: Buffer): unknown;
  rejectRequests(error: Error): void;
}

const path = "network/connection.js";
/** The size of a response, which comes first. */
const sizeBytes = 4;

/**
 * Makes each connection read one socket only. network/connection.js:166 and 513 connects again with the same
 * object while the former socket may still be open. It takes what it received of a response for the beginning
 * of the next one, and the rest that arrives later as well, and reads every later response wrongly. The end
 * of the former socket ends the new connection. A size that is too small for a response is thrown out of the
 * socket's event, which ends the process.
 */
export function forgetCutResponses(): void {
  const attempts = new WeakMap<Connection, Promise<unknown>>();
  patchMethod<Connection, "connect">(path, "connect", (connection, connect) => {
    if (connection.isConnected()) return connect();
    let attempt = attempts.get(connection);
    if (attempt === undefined) {
      leaveSocket(connection);
      attempt = connect().finally(() => attempts.delete(connection));
      attempts.set(connection, attempt);
    }
    return attempt;
  });
  patchMethod<Connection, "processData">(path, "processData", (connection, processData, data) => {
    try {
      return processData(data);
    } catch (error) {
      // kafkajs rejects the requests that wait for a response, and connects again.
      return connection.socket?.destroy(new Error(`a response cannot be read: ${getErrorMessage(error)}`));
    }
  });
}

/** Nothing arrives from a socket that was destroyed, so nothing may wait for it either. */
function leaveSocket(connection: Connection): void {
  connection.socket?.destroy();
  connection.rejectRequests(new kafkajs.KafkaJSConnectionError("Closed connection"));
  Object.assign(connection, { chunks: [], bytesBuffered: 0, bytesNeeded: sizeBytes });
}

interface Decoder {
  readBytes(length?: number): Buffer | null;
  readInt32(): number;
  canReadBytes(length: number): boolean;
}

/**
 * Treats a response that cannot be read as a lost connection. In network/connection.js:421 and
 * protocol/decoder.js:130, a response that ends too early becomes a RangeError or TypeError, which counts as
 * a fault of the program: the request is not repeated, and a consumer ends. If only its last bytes are
 * missing, they are left out without an error.
 */
export function repeatAfterUnreadableResponses(): void {
  patchMethod<Connection, "send">(path, "send", (_connection, send, protocol) => {
    const { request, response } = protocol;
    return send({
      ...protocol,
      response: {
        decode: (payload) => readResponse(request.apiName, () => response.decode(payload)),
        parse: (decoded) => readResponse(request.apiName, () => response.parse(decoded)),
      },
    });
  });
  patchMethod<Decoder, "readBytes">(
    "protocol/decoder.js",
    "readBytes",
    (decoder, readBytes, length = decoder.readInt32()) => {
      if (length < -1 || !decoder.canReadBytes(length)) throw new RangeError("the bytes are truncated");
      return readBytes(length);
    },
  );
}

/** Reads a response. Throws Kafka's errors, and a KafkaJSConnectionError if it cannot be read. */
export async function readResponse<T>(apiName: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    // It has no cause, because errors of the language count as faults of the program.
    throw new kafkajs.KafkaJSConnectionError(
      `the response to ${apiName} cannot be read: ${getErrorMessage(error)}`,
    );
  }
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

/**
 * Stops the checks of an empty queue: every enqueued request starts a check, so an empty queue needs no
 * timer. network/requestQueue/index.js:306 (its issues 1556 and 1751) checks its queue of pending requests
 * some 900 times a second while it is empty, which takes 2 % of a core and warns of negative timeouts on Node
 * 24.
 */
export function stopIdleChecks(): void {
  patchMethod<RequestQueue, "scheduleCheckPendingRequests">(
    "network/requestQueue/index.js",
    "scheduleCheckPendingRequests",
    (queue, schedule) => {
      if (queue.pending.length > 0) schedule();
    },
  );
}
