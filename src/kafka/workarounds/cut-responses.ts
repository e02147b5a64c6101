/**
 * Fault of kafkajs 2.2.4, network/connection.js:166: it connects again with the same object, and takes the
 * part of a response that it had received when the connection broke for the beginning of the next response.
 * It then reads every later response wrongly, so that all requests to this broker time out.
 * The test in test/unit/kafka/workarounds/cut-responses.test.ts fails when kafkajs no longer needs this.
 */

import { patchMethod } from "./patch.ts";

interface Connection {
  chunks: Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  isConnected(): boolean;
  connect(): Promise<unknown>;
}

/** The size of a response, which comes first. */
const sizeBytes = 4;

/** Makes kafkajs forget the part of a response when it connects again, in the whole process. */
export function forgetCutResponses(): void {
  patchMethod<"connect", Connection>(
    "network/connection.js",
    "connect",
    (connect) =>
      function (this: Connection) {
        if (!this.isConnected())
          Object.assign(this, { chunks: [], bytesBuffered: 0, bytesNeeded: sizeBytes });
        return connect.call(this);
      },
  );
}
