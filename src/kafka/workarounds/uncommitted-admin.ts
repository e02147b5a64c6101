import type { Admin, Kafka } from "kafkajs";

import { wrapClusters } from "./clusters.ts";

const readUncommitted = 0;

/**
 * Creates an admin client that reports high watermarks as the ends of partitions. Admin clients of kafkajs 2.2.4 always read
 * with the isolation level "read committed" and report last stable offsets; only this private function takes another level.
 * Use `kafka` for nothing else afterwards. See docs/decisions/003-kafkajs-behind-an-interface.md.
 */
export function createUncommittedAdmin(kafka: Kafka): Admin {
  wrapClusters(kafka, (create) => (options) => create({ ...options, isolationLevel: readUncommitted }));
  return kafka.admin();
}
