import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOptions } from "../../../../src/storage/database/client-options.ts";
import { collections } from "../../../../src/storage/names.ts";
import { connectProxiedDatabase } from "../../../support/database.ts";
import { until } from "../../../support/poll.ts";

const { database, proxy } = await connectProxiedDatabase();
/** The driver's default. */
const maxPoolSize = 100;

test("the connections in use, and the operations that wait for one, are counted", async () => {
  assert.ok(!("maxPoolSize" in clientOptions));
  const isUse = (inUse: number, waiting: number) => {
    const use = database.getPoolUse();
    return use.inUse === inUse && use.waiting === waiting;
  };
  await until("nothing is in use", () => isUse(0, 0));
  const found = { command: "find", collection: collections.topics, executed: true, answer: {} };
  proxy.fail({ ...found, delayMs: 60_000, times: maxPoolSize });
  const all = Array.from({ length: maxPoolSize + 2 }, () =>
    database.run(() => database.collection(collections.topics).findOne({})),
  );
  const settled = Promise.allSettled(all);
  await until("two operations wait", () => isUse(maxPoolSize, 2));
  proxy.clear();
  proxy.reset();
  await settled;
  await until("nothing is in use any more", () => isUse(0, 0));
});
