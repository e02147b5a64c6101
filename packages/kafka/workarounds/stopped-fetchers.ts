/**
 * Fault of kafkajs 2.2.4, consumer/fetchManager.js:76 with consumer/runner.js:348: when brokers come or go
 * while a consumer is stopped, it creates fetchers that nothing stops. Each asks a runner that has stopped,
 * which answers at once with nothing, again and again: the process does nothing else any more.
 * The test in test/workarounds/stopped-fetchers.test.ts fails when kafkajs no longer needs this.
 */

import kafkajs from "kafkajs";

import { patchMethod } from "./patch.ts";

interface Runner {
  readonly running: boolean;
  fetch(nodeId: string): Promise<readonly object[]>;
}

/** Makes fetchers end that ask for records after their consumer was stopped, in the whole process. */
export function endStoppedFetchers(): void {
  patchMethod<"fetch", Runner>(
    "consumer/runner.js",
    "fetch",
    (fetch) =>
      function (this: Runner, nodeId) {
        if (this.running) return fetch.call(this, nodeId);
        // Before it tries again, the runner notices that it has stopped.
        return Promise.reject(new kafkajs.KafkaJSError("the consumer has stopped", { retriable: true }));
      },
  );
}
