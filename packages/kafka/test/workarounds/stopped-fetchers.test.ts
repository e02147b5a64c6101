import assert from "node:assert/strict";
import { it } from "node:test";

import { loadPrivate } from "../../workarounds/patch.ts";
import { endStoppedFetchers } from "../../workarounds/runner.ts";

interface Runner {
  start(): Promise<void>;
  stop(): Promise<void>;
  fetch(nodeId: string): Promise<readonly object[]>;
}

/** A runner of kafkajs whose fetches end when the test says so. */
function createRunner() {
  const silent = {
    namespace: () => silent,
    ...Object.fromEntries(["debug", "info", "warn", "error"].map((level) => [level, () => undefined])),
  };
  const nodeIds = ["1", "2"];
  const fetches: (() => void)[] = [];
  const RunnerClass = loadPrivate("consumer/runner.js") as new (options: object) => Runner;
  const runner = new RunnerClass({
    logger: silent,
    concurrency: 1,
    retry: { initialRetryTime: 1, retries: 5 },
    instrumentationEmitter: { emit: () => undefined },
    onCrash: (error: Error) => {
      throw error;
    },
    consumerGroup: {
      connect: () => Promise.resolve(),
      joinAndSync: () => Promise.resolve(),
      leave: () => Promise.resolve(),
      heartbeat: () => Promise.resolve(),
      getNodeIds: () => [...nodeIds],
      fetch() {
        const { promise, resolve } = Promise.withResolvers<readonly object[]>();
        fetches.push(() => {
          resolve([]);
        });
        return promise;
      },
    },
  });
  return { runner, nodeIds, fetches };
}

it("stops while its fetchers are replaced, where stock kafkajs freezes the process", async () => {
  // It cannot be run to its end: no timer fires after it.
  const stock = createRunner();
  assert.deepEqual(await stock.runner.fetch("1"), [], "kafkajs no longer needs endStoppedFetchers");

  endStoppedFetchers();
  const { runner, nodeIds, fetches } = createRunner();
  await assert.rejects(runner.fetch("1"), { name: "KafkaJSError", retriable: true });
  await runner.start();
  assert.equal(fetches.length, 2);
  // A broker leaves. The first fetcher notices, and waits for the other one.
  nodeIds.pop();
  fetches.shift()?.();
  await new Promise((resolve) => void setImmediate(resolve));
  const stopped = runner.stop();
  fetches.shift()?.();
  await stopped;
});
