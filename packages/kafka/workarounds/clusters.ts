/**
 * Access to kafkajs' private clusters (src/index.js), the connections behind its clients. Other workarounds
 * use it.
 */

import type { Kafka, RequestTimeoutEvent } from "kafkajs";

import { loadPrivate } from "./patch.ts";

type CreateCluster = (options: object) => object;

/**
 * Replaces kafkajs' private function that creates the connections of its clients. Throws if this kafkajs has
 * none.
 */
export function wrapClusters(kafka: Kafka, wrap: (create: CreateCluster) => CreateCluster): void {
  const name = findName(kafka);
  Reflect.set(kafka, name, wrap(Reflect.get(kafka, name) as CreateCluster));
}

interface Emitter {
  addListener(event: string, listener: (event: RequestTimeoutEvent) => void): void;
}

/** Creates a cluster of kafkajs, for requests that none of its clients sends. */
export function createCluster(kafka: Kafka, onRequestTimeout: (event: RequestTimeoutEvent) => void): object {
  const EmitterClass = loadPrivate("instrumentation/emitter") as new () => Emitter;
  const { NETWORK_REQUEST_TIMEOUT } = loadPrivate("network/instrumentationEvents") as {
    readonly NETWORK_REQUEST_TIMEOUT: string;
  };
  const instrumentationEmitter = new EmitterClass();
  instrumentationEmitter.addListener(NETWORK_REQUEST_TIMEOUT, onRequestTimeout);
  const create = Reflect.get(kafka, findName(kafka)) as CreateCluster;
  return create({ metadataMaxAge: 300_000, instrumentationEmitter });
}

function findName(kafka: Kafka): symbol {
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster",
  );
  if (name === undefined) throw new Error("this kafkajs has no private:Kafka:createCluster");
  return name;
}
