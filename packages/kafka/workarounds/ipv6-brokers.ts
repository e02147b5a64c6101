/**
 * Fault of kafkajs 2.2.4, cluster/connectionPoolBuilder.js:82: it splits the address of a broker at its
 * colons, so that there is no way to write an IPv6 address.
 * The test in test/workarounds/ipv6-brokers.test.ts fails when kafkajs no longer needs this.
 */

import type { Kafka } from "kafkajs";

import { wrapClusters } from "./clusters.ts";

interface Destination {
  readonly host?: string;
  readonly port?: number;
}

interface Cluster {
  readonly connectionPoolBuilder: { build: (destination?: Destination) => Promise<object> };
}

/** Makes a client connect to brokers as they are written in the settings, `[::1]:9092` among them. */
export function connectToIpv6(kafka: Kafka, brokers: readonly string[]): void {
  const all = brokers.map(parseAddress);
  wrapClusters(kafka, (create) => (options) => {
    const cluster = create(options) as Cluster;
    const { connectionPoolBuilder: builder } = cluster;
    const build = builder.build.bind(builder);
    let next = 0;
    builder.build = (destination = {}) =>
      build(destination.host === undefined ? all[next++ % all.length] : destination);
    return cluster;
  });
}

function parseAddress(broker: string): Destination {
  const at = broker.lastIndexOf(":");
  return { host: broker.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(broker.slice(at + 1)) };
}
