/**
 * Faults of kafkajs 2.2.4, network/connection.js:421 and protocol/decoder.js:130: a response that ends too
 * early becomes a RangeError or TypeError, which counts as a fault of the program: the request is not
 * repeated, and a consumer ends. If only its last bytes are missing, they are left out without an error.
 * The test in test/workarounds/unreadable-responses.test.ts fails when kafkajs no longer needs
 * this.
 */

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
  send(protocol: Protocol): Promise<unknown>;
}

interface Decoder {
  readBytes(length?: number): Buffer | null;
  readInt32(): number;
  canReadBytes(length: number): boolean;
}

/** Makes kafkajs treat a response that cannot be read as a lost connection, in the whole process. */
export function repeatAfterUnreadableResponses(): void {
  patchMethod<"send", Connection>(
    "network/connection.js",
    "send",
    (send) =>
      function (this: Connection, protocol) {
        const { request, response } = protocol;
        return send.call(this, {
          ...protocol,
          response: {
            decode: (payload) => readResponse(request.apiName, () => response.decode(payload)),
            parse: (decoded) => readResponse(request.apiName, () => response.parse(decoded)),
          },
        });
      },
  );
  patchMethod<"readBytes", Decoder>(
    "protocol/decoder.js",
    "readBytes",
    (readBytes) =>
      function (this: Decoder, length = this.readInt32()) {
        if (length < -1 || !this.canReadBytes(length)) throw new RangeError("the bytes are truncated");
        return readBytes.call(this, length);
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
