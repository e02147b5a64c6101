import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { MongoClient } from "mongodb";

import { clientOptions } from "../../../src/storage/client-options.ts";
import { testDatabase } from "../../support/stack.ts";
import { statementScenes } from "./mongodb-statements.ts";
import { playEmbedded, playSimulated, type Scene } from "./mongodb-stores.ts";
import { transactionScenes } from "./mongodb-transactions.ts";

async function playOnOwnDatabase(scene: Scene) {
  const client = new MongoClient(testDatabase().uri, clientOptions);
  after(() => client.close());
  return playEmbedded(scene, client);
}

describe("the simulated MongoDB behaves as the embedded store does", () => {
  for (const scene of [...statementScenes, ...transactionScenes])
    it(scene.name, async () => {
      const simulated = await playSimulated(scene);
      assert.deepEqual(simulated, await playOnOwnDatabase(scene));
      assert.ok(simulated.length > 0);
    });
});
