import assert from "node:assert/strict";
import { it } from "node:test";

import { forgetGoneBrokers } from "../../workarounds/brokers.ts";
import { loadPrivate } from "../../workarounds/patch.ts";

type Ask = (found: { readonly nodeId: string }) => Promise<string>;

/** The brokers of kafkajs. It knows the broker 2, which has left; there is the broker 1. */
function createPool({ isConnected }: { readonly isConnected: boolean }) {
  const asked: (readonly string[])[] = [];
  const { prototype } = loadPrivate("cluster/brokerPool.js") as { readonly prototype: object };
  const pool = Object.assign(Object.create(prototype) as { withBroker(ask: Ask): Promise<string | null> }, {
    brokers: { "2": {} },
    metadata: { topicMetadata: [{ topic: "t" }] },
    hasConnectedBrokers: () => isConnected,
    findBroker: ({ nodeId }: { readonly nodeId: string }) =>
      nodeId === "2" ? Promise.reject(new Error("Connection timeout")) : Promise.resolve({}),
    refreshMetadata(topics: readonly string[]) {
      asked.push(topics);
      Object.assign(pool, { brokers: { "1": {} } });
      return Promise.resolve();
    },
  });
  return { asked, look: () => pool.withBroker(({ nodeId }) => Promise.resolve(nodeId)) };
}

it("asks another broker when one has left, where stock kafkajs fails", async () => {
  const stock = createPool({ isConnected: true });
  await assert.rejects(stock.look(), /Connection timeout/, "kafkajs no longer needs forgetGoneBrokers");

  forgetGoneBrokers();
  const { asked, look } = createPool({ isConnected: true });
  assert.equal(await look(), "1");
  assert.deepEqual(asked, [["t"]]);
});

it("asks nobody while no broker is connected", async () => {
  forgetGoneBrokers();
  const { asked, look } = createPool({ isConnected: false });
  await assert.rejects(look(), /Connection timeout/);
  assert.deepEqual(asked, []);
});
