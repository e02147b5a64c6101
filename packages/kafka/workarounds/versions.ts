/**
 * Fault of kafkajs 2.2.4, broker/index.js:83 with cluster/brokerPool.js:166: it asks one broker once which
 * requests it has, and takes this for what all brokers have, for ever. While brokers are upgraded or rolled
 * back, it sends requests that close the connection, or goes on without topic ids.
 * The test in test/workarounds/versions.test.ts fails when kafkajs no longer needs this.
 */

import { loadPrivate, patchMethod } from "./patch.ts";

interface Broker {
  versions: object | null;
  lookupRequest: unknown;
  readonly connectionPool: { setVersions(versions: object): void };
  isConnected(): boolean;
  connect(): Promise<void>;
  apiVersions(): Promise<object>;
}

/** Makes kafkajs ask each broker after each connection which requests it has, in the whole process. */
export function askForVersions(): void {
  const { lookup } = loadPrivate("protocol/requests/index.js") as {
    readonly lookup: (versions: object) => unknown;
  };
  const attempts = new WeakMap<Broker, Promise<void>>();
  patchMethod<"connect", Broker>(
    "broker/index.js",
    "connect",
    (connect) =>
      function (this: Broker) {
        let attempt = attempts.get(this);
        if (attempt !== undefined || this.isConnected()) return attempt ?? connect.call(this);
        attempt = connectAnew(this, connect, lookup).finally(() => attempts.delete(this));
        attempts.set(this, attempt);
        return attempt;
      },
  );
}

async function connectAnew(
  broker: Broker,
  connect: Broker["connect"],
  lookup: (versions: object) => unknown,
): Promise<void> {
  const known = broker.versions;
  await connect.call(broker);
  // Without known ones, it has asked already.
  if (known === null) return;
  const versions = await broker.apiVersions();
  broker.connectionPool.setVersions(versions);
  broker.lookupRequest = lookup(versions);
  broker.versions = versions;
}
