/**
 * Faults of kafkajs 2.2.4 with what it knows of brokers. Each is corrected in the whole process, and a test
 * in test/workarounds fails when kafkajs no longer needs it.
 */

import { loadPrivate, patchMethod } from "./patch.ts";

interface BrokerPool {
  readonly metadata: { readonly topicMetadata: readonly { readonly topic: string }[] } | null;
  hasConnectedBrokers(): boolean;
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
  withBroker(ask: (broker: object) => Promise<unknown>): Promise<unknown>;
}

/**
 * Asks which brokers there are when one cannot be connected to. To look for a coordinator,
 * cluster/brokerPool.js:274 picks a broker that it once knew, and fails if that one does not accept the
 * connection, again and again after the broker has left for good: a client that fetches nothing never asks
 * which brokers there are.
 */
export function forgetGoneBrokers(): void {
  patchMethod<BrokerPool, "withBroker">(
    "cluster/brokerPool.js",
    "withBroker",
    async (pool, withBroker, ask) => {
      try {
        return await withBroker(ask);
      } catch (error) {
        if (!pool.hasConnectedBrokers()) throw error;
        // Otherwise it would forget them.
        const topics = pool.metadata?.topicMetadata.map(({ topic }) => topic) ?? [];
        await pool.refreshMetadata(topics).catch(() => {
          throw error;
        });
        return withBroker(ask);
      }
    },
  );
}

interface Broker {
  versions: object | null;
  lookupRequest: unknown;
  readonly connectionPool: { setVersions(versions: object): void };
  isConnected(): boolean;
  connect(): Promise<void>;
  apiVersions(): Promise<object>;
}

/**
 * Asks each broker after each connection which requests it has. broker/index.js:83 with
 * cluster/brokerPool.js:166 asks one broker once, and takes this for what all brokers have, for ever. While
 * brokers are upgraded or rolled back, it sends requests that close the connection, or goes on without topic
 * ids.
 */
export function askForVersions(): void {
  const { lookup } = loadPrivate("protocol/requests/index.js") as {
    readonly lookup: (versions: object) => unknown;
  };
  const attempts = new WeakMap<Broker, Promise<void>>();

  async function connectAnew(broker: Broker, connect: Broker["connect"]): Promise<void> {
    const known = broker.versions;
    await connect();
    // Without known ones, it has asked already.
    if (known === null) return;
    const versions = await broker.apiVersions();
    broker.connectionPool.setVersions(versions);
    broker.lookupRequest = lookup(versions);
    broker.versions = versions;
  }

  patchMethod<Broker, "connect">("broker/index.js", "connect", (broker, connect) => {
    let attempt = attempts.get(broker);
    if (attempt !== undefined || broker.isConnected()) return attempt ?? connect();
    attempt = connectAnew(broker, connect).finally(() => attempts.delete(broker));
    attempts.set(broker, attempt);
    return attempt;
  });
}
