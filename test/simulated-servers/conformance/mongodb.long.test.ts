import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { MongoClient } from "mongodb";

import { clientOptions } from "../../../src/storage/database/client-options.ts";
import { dialects } from "../../support/mongo-dialects.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";
import { getPort } from "../../support/local.ts";
import { statementScenes } from "./mongodb-statements.ts";
import { playEmbedded, playSimulated, type Note, type Scene } from "./mongodb-stores.ts";
import { streamScenes } from "./mongodb-streams.ts";
import { duplicatesInTransaction, transactionScenes } from "./mongodb-transactions.ts";
import { updateScenes } from "./mongodb-updates.ts";
import { waitScenes } from "./mongodb-waits.ts";

function playAt(uri: string, scene: Scene): Promise<readonly Note[]> {
  const client = new MongoClient(uri, clientOptions);
  after(() => client.close());
  return playEmbedded(scene, client);
}

describe("the simulated MongoDB behaves as the embedded store does", () => {
  for (const scene of [
    ...statementScenes,
    ...updateScenes,
    ...transactionScenes,
    ...waitScenes,
    ...streamScenes,
  ])
    it(scene.name, async () => {
      assert.deepEqual(await playSimulated(scene), await playAt(testDatabase().uri, scene));
    });

  it("also where a product reports a duplicate in a transaction as a conflict", async () => {
    const proxy = await startMongoProxy(getPort(sharedStack().mongodb), {
      dialect: dialects["DocumentDB (open source)"],
    });
    const uri = proxy.uri(testDatabase().db.databaseName);
    const simulated = await playSimulated(duplicatesInTransaction, "conflict-in-transaction");
    assert.deepEqual(simulated, await playAt(uri, duplicatesInTransaction));
  });
});
