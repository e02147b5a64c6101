import assert from "node:assert/strict";
import { it } from "node:test";

import { loadPrivate } from "../../workarounds/patch.ts";
import { askForVersions } from "../../workarounds/brokers.ts";

type Versions = Readonly<Record<number, { readonly minVersion: number; readonly maxVersion: number }>>;

interface Broker {
  readonly versions: Versions | null;
  connect(): Promise<void>;
  isConnected(): boolean;
  apiVersions(): Promise<Versions>;
}

/** A broker of kafkajs that knows what another one has, and can be disconnected. */
function createBroker() {
  const silent = { namespace: () => silent, debug: () => undefined, error: () => undefined };
  const connection = {
    getSupportAuthenticationProtocol: () => false,
    authenticate: () => Promise.resolve(),
  };
  let isConnected = false;
  const state = { asked: 0, maxVersion: 13, setConnected: (is: boolean) => (isConnected = is) };
  const connectionPool = {
    host: "unused",
    port: 9092,
    connectionTimeout: 1_000,
    isConnected: () => isConnected,
    getConnection() {
      isConnected = true;
      return Promise.resolve(connection);
    },
    setVersions: () => undefined,
  };
  const BrokerClass = loadPrivate("broker/index.js") as new (options: object) => Broker;
  const versions = { 1: { minVersion: 0, maxVersion: 99 } };
  const broker = Object.assign(new BrokerClass({ connectionPool, logger: silent, versions }), {
    apiVersions() {
      state.asked += 1;
      return Promise.resolve({ 1: { minVersion: 0, maxVersion: state.maxVersion } });
    },
  });
  return { broker, state };
}

it("asks a broker after each connection which requests it has, which stock kafkajs never does again", async () => {
  const stock = createBroker();
  await stock.broker.connect();
  assert.equal(stock.broker.versions?.[1]?.maxVersion, 99, "kafkajs no longer needs askForVersions");

  askForVersions();
  const { broker, state } = createBroker();
  await Promise.all([broker.connect(), broker.connect()]);
  await broker.connect();
  assert.deepEqual([broker.versions?.[1]?.maxVersion, state.asked], [13, 1]);
  state.setConnected(false);
  state.maxVersion = 11;
  await broker.connect();
  assert.deepEqual([broker.versions?.[1]?.maxVersion, state.asked], [11, 2]);
});
