/**
 * Fault of kafkajs 2.2.4, cluster/brokerPool.js:277: while it looks for the coordinator of a group, it drops
 * the response to a user who may not use the group, and reports that there is no coordinator, as in an
 * outage. See docs/decisions/003-kafkajs-behind-an-interface.md.
 * The test in test/workarounds/denied-groups.test.ts fails when kafkajs no longer needs this.
 */

import type { Kafka } from "kafkajs";

import { findDenial } from "../errors.ts";
import { wrapClusters } from "./clusters.ts";

interface Cluster {
  readonly brokerPool: BrokerPool;
  findGroupCoordinatorMetadata(request: object): Promise<unknown>;
}
interface BrokerPool {
  /** Asks one broker after another; resolves to null when no one responds without an error. */
  withBroker(ask: (broker: object) => Promise<unknown>): Promise<unknown>;
}

/** Makes a client throw the broker's response to a user who may not use a group. */
export function throwGroupDenials(kafka: Kafka): void {
  wrapClusters(kafka, (create) => (options) => {
    const cluster = create(options) as Cluster;
    const { brokerPool } = cluster;
    const find = cluster.findGroupCoordinatorMetadata.bind(cluster);
    const withBroker = brokerPool.withBroker.bind(brokerPool);
    let denial: unknown;
    brokerPool.withBroker = (ask) =>
      withBroker((broker) =>
        ask(broker).catch((error: unknown) => {
          if (findDenial(error) !== undefined) denial = error;
          throw error;
        }),
      );
    cluster.findGroupCoordinatorMetadata = async (request) => {
      denial = undefined;
      return find(request).catch((error: unknown) => {
        throw denial ?? error;
      });
    };
    return cluster;
  });
}
