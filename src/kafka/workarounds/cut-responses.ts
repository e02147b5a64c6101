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

/**
 * Makes kafkajs 2.2.4 forget the part of a response that it had received when the connection broke, in the whole process. It connects
 * again with the same object, and would take the part for the beginning of the next response: every later one would be read
 * wrongly, and nothing would ever be heard of this broker again.
 */
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
