/**
 * Access to kafkajs' private clusters (src/index.js), the connections behind its clients, and faults of these
 * in kafkajs 2.2.4. Each is corrected for one client, and a test in test/workarounds fails when kafkajs no
 * longer needs it.
 */

import type { Kafka, RequestTimeoutEvent } from "kafkajs";

import { findDenial } from "../errors.ts";
import { loadPrivate } from "./patch.ts";

interface Cluster {
  readonly connectionPoolBuilder: { build: (destination?: Destination) => Promise<object> };
  readonly brokerPool: BrokerPool;
  findGroupCoordinatorMetadata(request: CoordinatorQuery): Promise<unknown>;
}

interface Destination {
  readonly host?: string;
  readonly port?: number;
}

interface BrokerPool {
  /** Asks one broker after another; resolves to null when no one responds without an error. */
  withBroker(ask: (broker: object) => Promise<unknown>): Promise<unknown>;
}

interface CoordinatorQuery {
  readonly groupId: string;
  readonly coordinatorType: number;
}

type CreateCluster = (options: object) => Cluster;

/** Changes each cluster that a client creates. Throws if this kafkajs has no function that creates them. */
function patchClusters(kafka: Kafka, patch: (cluster: Cluster) => void): void {
  const name = findName(kafka);
  const create = Reflect.get(kafka, name) as CreateCluster;
  Reflect.set(kafka, name, (options: object) => {
    const cluster = create(options);
    patch(cluster);
    return cluster;
  });
}

interface Emitter {
  addListener(event: string, listener: (event: RequestTimeoutEvent) => void): void;
}

/** Creates a cluster of kafkajs, for requests that none of its clients sends. */
export function createCluster(kafka: Kafka, onRequestTimeout: (event: RequestTimeoutEvent) => void): object {
  const EmitterClass = loadPrivate("instrumentation/emitter") as new () => Emitter;
  const { NETWORK_REQUEST_TIMEOUT } = loadPrivate("network/instrumentationEvents") as {
    readonly NETWORK_REQUEST_TIMEOUT: string;
  };
  const instrumentationEmitter = new EmitterClass();
  instrumentationEmitter.addListener(NETWORK_REQUEST_TIMEOUT, onRequestTimeout);
  const create = Reflect.get(kafka, findName(kafka)) as CreateCluster;
  return create({ metadataMaxAge: 300_000, instrumentationEmitter });
}

function findName(kafka: Kafka): symbol {
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster",
  );
  if (name === undefined) throw new Error("this kafkajs has no private:Kafka:createCluster");
  return name;
}

/**
 * Makes a client look up a coordinator once. producer/eosManager/index.js:92 looks it up before each request
 * of a transaction, which makes four of its nine round trips. Only for clients that are not used any more
 * after an error, because coordinators move.
 */
export function rememberCoordinators(kafka: Kafka): void {
  patchClusters(kafka, (cluster) => {
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
  });
}

/**
 * Makes a client throw the broker's response to a user who may not use a group. While it looks for the
 * coordinator of the group, cluster/brokerPool.js:277 drops that response, and reports that there is no
 * coordinator, as in an outage. See docs/decisions/003-kafkajs-behind-an-interface.md.
 */
export function throwGroupDenials(kafka: Kafka): void {
  patchClusters(kafka, (cluster) => {
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
  });
}

/**
 * Makes a client connect to brokers as they are written in the settings, `[::1]:9092` among them.
 * cluster/connectionPoolBuilder.js:82 splits the address of a broker at its colons, so that there is no way
 * to write an IPv6 address.
 */
export function connectToIpv6(kafka: Kafka, brokers: readonly string[]): void {
  const all = brokers.map(parseAddress);
  patchClusters(kafka, ({ connectionPoolBuilder: builder }) => {
    const build = builder.build.bind(builder);
    let next = 0;
    builder.build = (destination = {}) =>
      build(destination.host === undefined ? all[next++ % all.length] : destination);
  });
}

function parseAddress(broker: string): Destination {
  const at = broker.lastIndexOf(":");
  return { host: broker.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(broker.slice(at + 1)) };
}
