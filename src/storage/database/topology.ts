import type { MongoClient } from "mongodb";

import { UnavailableError } from "@topicsync/lib/errors";

/** Members of a replica set that serve reads and are not its primary. */
const secondaryTypes: ReadonlySet<string | undefined> = new Set([
  "RSSecondary",
  "RSOther",
  "RSArbiter",
  "RSGhost",
]);

export type Topology = ReturnType<typeof followTopology>;

/**
 * Follows what the driver's monitors learn about the servers. See Database for what the functions return.
 * `onElection` is called until `stop`.
 */
export function followTopology(client: MongoClient, onElection: () => void) {
  let primary: { readonly address: string; readonly name: string | undefined } | undefined;
  let isDirectToSecondary = false;
  let hasRouters = false;
  let isStopped = false;

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
    getPrimary: (): string | undefined => primary?.name,
    seesElections: (): boolean => !hasRouters,
    stop(): void {
      isStopped = true;
    },
    /**
     * Throws UnavailableError if the URI has `directConnection=true` and names a secondary: the driver would
     * read from it, although its data is old.
     */
    requireWritable(): void {
      if (isDirectToSecondary)
        throw new UnavailableError(
          "the only member that MONGODB_URI allows (directConnection=true) is not the primary; name the replica set instead",
        );
    },
  };
}
