import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Document } from "mongodb";

import { socketTimeoutMs } from "../../../../src/storage/database/client-options.ts";
import { createInstallationStore } from "../../../../src/storage/installations/installations.ts";
import { createListQueue } from "../../../../src/storage/database/list-queue.ts";
import { collections } from "../../../../src/storage/names.ts";
import { createTopicReader } from "../../../../src/storage/topics/reader.ts";
import { connectProxiedDatabase } from "../../../support/database.ts";
import { unique } from "../../../support/names.ts";

const sent: Document[] = [];
const { database, proxy } = await connectProxiedDatabase({ onCommand: (command) => void sent.push(command) });

describe("lists that take long", () => {
  it("leave connections to registrations, however many there are", async () => {
    const reader = createTopicReader(database);
    const slow = { command: "find", collection: collections.topics, executed: true, answer: {} };
    // More than the driver has connections.
    proxy.fail({ ...slow, delayMs: 60_000, times: 150 });
    let ended = 0;
    const lists = Array.from({ length: 150 }, async (): Promise<void> => {
      const order = { sort: "changed", descending: true } as const;
      const from = { order, after: undefined, limit: 10 };
      await reader.readSorted({ state: "active", namespaces: "all" }, from).finally(() => (ended += 1));
    });
    const settled = Promise.allSettled(lists);
    const key = { token: unique("token"), application: "agent", platform: "ios" };
    const registered = await createInstallationStore(database).write([
      { kind: "register", key, user: "ann" },
    ]);
    assert.deepEqual(registered, []);
    assert.equal(ended, 0);
    const finds = sent.filter(({ find }) => find === collections.topics);
    assert.ok(finds.length > 0);
    for (const { maxTimeMS } of finds) assert.ok(maxTimeMS < socketTimeoutMs);
    proxy.clear();
    proxy.reset();
    await settled;
  });

  for (const [poolSize, atOnce] of [
    [100, 20],
    [10, 2],
    [1, 1],
    [0, 20],
  ] as const)
    it(`run ${atOnce} at a time with a pool of ${poolSize} connections`, async () => {
      const run = createListQueue(poolSize);
      const { promise, resolve } = Promise.withResolvers<undefined>();
      let running = 0;
      const lists = Array.from({ length: 30 }, () =>
        run(() => {
          running += 1;
          return promise;
        }),
      );
      await Promise.resolve();
      assert.equal(running, atOnce);
      resolve(undefined);
      await Promise.all(lists);
      assert.equal(running, 30);
    });
});
