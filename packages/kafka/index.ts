/** What the domain knows of Kafka: types and pure functions, without kafkajs. */
export * from "./interface/config.ts";
export * from "./interface/egress-naming.ts";
export * from "./interface/positions.ts";
export * from "./interface/records.ts";
export * from "./interface/routing-transactions.ts";
export { choosePartition } from "./partitioner.ts";
