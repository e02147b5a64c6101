import type { Collection, MongoClient } from "mongodb";

import { UnavailableError } from "@topicsync/lib/errors";
import type { CollectionName } from "../names.ts";

/** Members of a replica set that serve reads and are not its primary. */
const secondaryTypes: ReadonlySet<string | undefined> = new Set([
  "RSSecondary",
  "RSOther",
  "RSArbiter",
  "RSGhost",
]);

export type Connection = ReturnType<typeof createConnection>;

/**
 * A client of the driver with its collections, and what its pools and monitors know. See Database for what the
 * functions return. `onElection` is called until `stop`.
 */
export function createConnection(client: MongoClient, onElection: () => void) {
  const db = client.db();
  const collections = new Map<CollectionName, Collection>();
  const use = { inUse: 0, waiting: 0 };
  let primary: { readonly address: string; readonly name: string | undefined } | undefined;
  let isDirectToSecondary = false;
  let hasRouters = false;
  let isStopped = false;

  client.on("connectionCheckOutStarted", () => (use.waiting += 1));
  client.on("connectionCheckOutFailed", () => (use.waiting -= 1));
  client.on("connectionCheckedOut", () => {
    use.waiting -= 1;
    use.inUse += 1;
  });
  client.on("connectionCheckedIn", () => (use.inUse -= 1));

  client.on("topologyDescriptionChanged", ({ newDescription: { type, servers } }) => {
    const all = [...servers];
    hasRouters ||= all.some(([, server]) => server.type === "Mongos" || server.type === "LoadBalancer");
    isDirectToSecondary = type === "Single" && all.some(([, server]) => secondaryTypes.has(server.type));
    const found = all.find(([, server]) => server.type === "RSPrimary");
    const former = primary;
    if (found !== undefined) primary = { address: found[0], name: found[1].electionId?.toHexString() };
    if (former === undefined || isStopped) return;
    const hasSteppedDown = secondaryTypes.has(servers.get(former.address)?.type);
    if (hasSteppedDown || former.name !== primary?.name) onElection();
  });

  return {
    client,
    db,
    getCollection(name: CollectionName): Collection {
      const collection = collections.get(name) ?? db.collection(name);
      collections.set(name, collection);
      return collection;
    },
    /** What the connections of the driver's pools are doing: `waiting` is the operations that wait for one. */
    getPoolUse: () => ({ ...use }),
    getPrimary: (): string | undefined => primary?.name,
    seesElections: (): boolean => !hasRouters,
    stop(): void {
      isStopped = true;
    },
    /**
     * Throws UnavailableError if the URI has `directConnection=true` and names a secondary: the driver would
     * read from it, although its data is old.
     */
    requireWritable: (): void => {
      if (isDirectToSecondary)
        throw new UnavailableError(
          "the only member that MONGODB_URI allows (directConnection=true) is not the primary; name the replica set instead",
        );
    },
  };
}
