/**
 * Fault of kafkajs 2.2.4, cluster/brokerPool.js:274: to look for a coordinator it picks a broker that it once
 * knew, and fails if that one does not accept the connection, again and again after the broker has left for
 * good: a client that fetches nothing never asks which brokers there are.
 * The test in test/workarounds/gone-brokers.test.ts fails when kafkajs no longer needs this.
 */

import { patchMethod } from "./patch.ts";

interface BrokerPool {
  readonly metadata: { readonly topicMetadata: readonly { readonly topic: string }[] } | null;
  hasConnectedBrokers(): boolean;
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
  withBroker(ask: (broker: object) => Promise<unknown>): Promise<unknown>;
}

/** Makes kafkajs ask which brokers there are when it cannot connect to one, in the whole process. */
export function forgetGoneBrokers(): void {
  patchMethod<"withBroker", BrokerPool>(
    "cluster/brokerPool.js",
    "withBroker",
    (withBroker) =>
      async function (this: BrokerPool, ask) {
        try {
          return await withBroker.call(this, ask);
        } catch (error) {
          if (!this.hasConnectedBrokers()) throw error;
          // Otherwise it would forget them.
          const topics = this.metadata?.topicMetadata.map(({ topic }) => topic) ?? [];
          await this.refreshMetadata(topics).catch(() => {
            throw error;
          });
          return withBroker.call(this, ask);
        }
      },
  );
}
