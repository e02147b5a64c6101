/**
 * Fault of kafkajs 2.2.4, producer/eosManager/index.js:92: it looks up the coordinator before each request of
 * a transaction, which makes four of its nine round trips.
 * The test in test/workarounds/coordinators.test.ts fails when kafkajs no longer needs this.
 */

import type { Kafka } from "kafkajs";

import { wrapClusters } from "./clusters.ts";

interface Cluster {
  findGroupCoordinatorMetadata(request: CoordinatorQuery): Promise<unknown>;
}
interface CoordinatorQuery {
  readonly groupId: string;
  readonly coordinatorType: number;
}

/**
 * Makes clients look up a coordinator once. Only for clients that are not used any more after an error,
 * because coordinators move.
 */
export function rememberCoordinators(kafka: Kafka): void {
  wrapClusters(kafka, (create) => (options) => {
    const cluster = create(options) as Cluster;
    const find = cluster.findGroupCoordinatorMetadata.bind(cluster);
    const found = new Map<string, Promise<unknown>>();
    cluster.findGroupCoordinatorMetadata = (query) => {
      const key = `${query.coordinatorType} ${query.groupId}`;
      const known = found.get(key);
      if (known !== undefined) return known;
      const finding = find(query);
      found.set(key, finding);
      finding.catch(() => found.delete(key));
      return finding;
    };
    return cluster;
  });
}
