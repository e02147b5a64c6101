import type { Admin, Kafka } from "kafkajs";

type CreateCluster = (options: object) => object;

const readUncommitted = 0;

/**
 * Creates an admin client that reports high watermarks as the ends of partitions. Admin clients of kafkajs 2.2.4 always read
 * with the isolation level "read committed" and report last stable offsets; only this private function takes another level.
 * Use `kafka` for nothing else afterwards. See docs/decisions/003-kafkajs-behind-an-interface.md.
 */
export function createUncommittedAdmin(kafka: Kafka): Admin {
  const name = findName(kafka);
  const create = Reflect.get(kafka, name) as CreateCluster;
  const createUncommitted: CreateCluster = (options) =>
    create({ ...options, isolationLevel: readUncommitted });
  Reflect.set(kafka, name, createUncommitted);
  return kafka.admin();
}

/** A cluster of kafkajs: the connections to the brokers, for requests that no client of it sends. */
export const createCluster = (kafka: Kafka): object =>
  (Reflect.get(kafka, findName(kafka)) as CreateCluster)({ metadataMaxAge: 300_000 });

/** The name of kafkajs' private function. */
function findName(kafka: Kafka): symbol {
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster",
  );
  if (name === undefined) throw new Error("this kafkajs has no private:Kafka:createCluster");
  return name;
}
