import assert from "node:assert/strict";
import { it } from "node:test";

import { keepGroupDenials, restoreDenial } from "../../../../src/kafka/workarounds/denied-groups.ts";
import { loadPrivate } from "../../../../src/kafka/workarounds/patch.ts";

const denial = Object.assign(new Error("denied"), { type: "GROUP_AUTHORIZATION_FAILED" });
const outage = new Error("no coordinator");

interface Prototype<T> {
  readonly prototype: T;
}

it("keeps a denial that stock kafkajs reports as a missing coordinator", async () => {
  const { prototype: pool } = loadPrivate("cluster/brokerPool.js") as Prototype<{ withBroker: unknown }>;
  const { prototype: cluster } = loadPrivate("cluster/index.js") as Prototype<{
    findGroupCoordinatorMetadata(request: { readonly groupId: string }): Promise<object>;
  }>;
  const denying = {
    brokerPool: {
      brokers: { 1: {} },
      findBroker: () => ({ findGroupCoordinator: () => Promise.reject(denial) }),
      withBroker: pool.withBroker,
    },
    retrier: (attempt: (bail: (error: unknown) => never) => unknown) =>
      attempt((error) => {
        throw error;
      }),
    logger: { debug: () => undefined },
  };
  await assert.rejects(
    cluster.findGroupCoordinatorMetadata.call(denying as unknown as typeof cluster, { groupId: "group" }),
    { name: "KafkaJSGroupCoordinatorNotFound" },
    "kafkajs no longer needs keepGroupDenials",
  );
});

it("clears the denial once the coordinator is found", async () => {
  const { prototype: broker } = loadPrivate("broker/index.js") as Prototype<{
    findGroupCoordinator(request: { groupId: string }): Promise<object>;
  }>;
  let isDenied = true;
  broker.findGroupCoordinator = () => (isDenied ? Promise.reject(denial) : Promise.resolve({}));
  keepGroupDenials();
  const find = () => broker.findGroupCoordinator({ groupId: "group" });

  await assert.rejects(find(), denial);
  assert.equal(restoreDenial("group", outage), denial);
  await assert.rejects(find(), denial);
  isDenied = false;
  await find();
  assert.equal(restoreDenial("group", outage), outage);
});
