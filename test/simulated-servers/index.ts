/** The face of the simulated servers: the only module that code outside this folder imports. */
export { createClock, createHost, type Clock, type Host } from "./clock.ts";
export { createRandom, type Random } from "./random.ts";
export { createSimulatedPlatform, startOfTime } from "./platform.ts";
export { withSimulatedTimers } from "./timers.ts";
export { Network, type LinkFault } from "./network.ts";
export { SocketNetwork } from "./sockets.ts";
export type { SocketFault } from "./simulated-socket.ts";

export { Cluster, type ClusterOptions } from "./kafka/cluster.ts";
export type { CoordinatorKind } from "./kafka/coordination.ts";
export { creation } from "./kafka/data-requests.ts";
export type { Delivery } from "./kafka/fetches.ts";
export type { NewRecord } from "./kafka/foreign-producers.ts";
export type { StoredRecord } from "./kafka/log-batches.ts";
export type { PartitionLog } from "./kafka/log.ts";
export { nameFetching } from "./kafka/lookups.ts";
export { toKey } from "./kafka/requests.ts";
export type { Partition, Topic, TopicRegistry } from "./kafka/topics.ts";
export type { DecidedTransaction, WrittenRecord } from "./kafka/transactions.ts";
export { messages, type MessageName } from "./wire/messages.ts";

export { createMongoClient } from "./mongodb/client.ts";
export type { Change, Commit, Dialect, Read, ServerOptions } from "./mongodb/commands.ts";
export { formatValue, type Document } from "./mongodb/documents.ts";
export { MongoServer } from "./mongodb/server.ts";
