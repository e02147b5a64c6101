import type { Admin, Kafka } from "kafkajs";

type CreateCluster = (options: object) => object;

const readUncommitted = 0;

/**
 * Creates an admin client whose log ends are high watermarks. Those of kafkajs 2.2.4 are last stable offsets: an admin always
 * asks with the isolation level "read committed", and only this private function takes another one. `kafka` is not to be used
 * for anything else.
 */
export function createUncommittedAdmin(kafka: Kafka): Admin {
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster",
  );
  if (name === undefined) throw new Error("this kafkajs creates its clusters by another function");
  const createCluster = Reflect.get(kafka, name) as CreateCluster;
  const create: CreateCluster = (options) => createCluster({ ...options, isolationLevel: readUncommitted });
  Reflect.set(kafka, name, create);
  return kafka.admin();
}
