import type { MongoClient } from "mongodb";

/** What the connections of the driver's pools are doing. */
export interface PoolUse {
  readonly inUse: number;
  /** Operations that wait for a connection. */
  readonly waiting: number;
}

/** Follows the pools of a client; returns the function that tells their use. */
export function followPool(client: MongoClient): () => PoolUse {
  let inUse = 0;
  let waiting = 0;
  client.on("connectionCheckOutStarted", () => (waiting += 1));
  client.on("connectionCheckOutFailed", () => (waiting -= 1));
  client.on("connectionCheckedOut", () => {
    waiting -= 1;
    inUse += 1;
  });
  client.on("connectionCheckedIn", () => (inUse -= 1));
  return () => ({ inUse, waiting });
}
