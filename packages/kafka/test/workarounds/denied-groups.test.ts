import assert from "node:assert/strict";
import { it } from "node:test";

import kafkajs from "kafkajs";

import { createCluster, throwGroupDenials } from "../../workarounds/clusters.ts";

interface Cluster {
  readonly brokerPool: { brokers: object; findBroker: () => Promise<object> };
  findGroupCoordinatorMetadata(request: { readonly groupId: string }): Promise<unknown>;
}

const denial = new (class extends kafkajs.KafkaJSProtocolError {
  override readonly type = "GROUP_AUTHORIZATION_FAILED";
})(new Error("denied"));

/** A cluster of kafkajs whose only broker answers as it is told. */
function createClusterWith(find: () => Promise<object>, prepare?: typeof throwGroupDenials): Cluster {
  const kafka = new kafkajs.Kafka({ brokers: ["unused:9092"], retry: { retries: 0 } });
  prepare?.(kafka);
  const cluster = createCluster(kafka, () => undefined) as Cluster;
  cluster.brokerPool.brokers = { 1: {} };
  cluster.brokerPool.findBroker = () => Promise.resolve({ findGroupCoordinator: find });
  return cluster;
}

it("throws a denial that stock kafkajs reports as a missing coordinator", async () => {
  const deny = () => Promise.reject(denial);
  await assert.rejects(
    createClusterWith(deny).findGroupCoordinatorMetadata({ groupId: "group" }),
    { name: "KafkaJSGroupCoordinatorNotFound" },
    "kafkajs no longer needs throwGroupDenials",
  );
  await assert.rejects(
    createClusterWith(deny, throwGroupDenials).findGroupCoordinatorMetadata({ groupId: "group" }),
    denial,
  );
});

it("forgets the denial once the coordinator is found", async () => {
  const found = { coordinator: { nodeId: 1 } };
  let answer: () => Promise<object> = () => Promise.reject(denial);
  const cluster = createClusterWith(() => answer(), throwGroupDenials);
  const find = () => cluster.findGroupCoordinatorMetadata({ groupId: "group" });

  await assert.rejects(find(), denial);
  answer = () => Promise.resolve(found);
  assert.equal(await find(), found);
  answer = () => Promise.reject(new Error("connection lost"));
  await assert.rejects(find(), { name: "KafkaJSGroupCoordinatorNotFound" });
});
