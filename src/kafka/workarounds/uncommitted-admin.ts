import type { Admin, Kafka } from "kafkajs";

type CreateCluster = (options: object) => object;

const readUncommitted = 0;

/**
 * Creates an admin client that reports high watermarks as the ends of partitions. Admin clients of kafkajs 2.2.4 always read
 * with the isolation level "read committed" and report last stable offsets; only this private function takes another level.
 * Use `kafka` for nothing else afterwards. See docs/decisions/003-kafkajs-behind-an-interface.md.
 */
export function createUncommittedAdmin(kafka: Kafka): Admin {
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster",
  );
  if (name === undefined) throw new Error("this kafkajs has no private:Kafka:createCluster");
  const createCluster = Reflect.get(kafka, name) as CreateCluster;
  const create: CreateCluster = (options) => createCluster({ ...options, isolationLevel: readUncommitted });
  Reflect.set(kafka, name, create);
  return kafka.admin();
}
