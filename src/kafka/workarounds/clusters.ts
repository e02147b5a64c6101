import type { Kafka } from "kafkajs";

type CreateCluster = (options: object) => object;

/** Replaces kafkajs' private function that creates the connections of its clients. Throws where this kafkajs has none. */
export function wrapClusters(kafka: Kafka, wrap: (create: CreateCluster) => CreateCluster): void {
  const name = findName(kafka);
  Reflect.set(kafka, name, wrap(Reflect.get(kafka, name) as CreateCluster));
}

/** A cluster of kafkajs: the connections to the brokers, for requests that no client of it sends. */
export const createCluster = (kafka: Kafka): object =>
  (Reflect.get(kafka, findName(kafka)) as CreateCluster)({ metadataMaxAge: 300_000 });

function findName(kafka: Kafka): symbol {
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster",
  );
  if (name === undefined) throw new Error("this kafkajs has no private:Kafka:createCluster");
  return name;
}
