/** Elections at the worst moments of the sync. */
import { collections } from "../../src/storage/names.ts";
import type { SyncAction } from "./sync-steps.ts";
import type { Service } from "./sync-service.ts";
import type { World } from "./world.ts";

type Election = Extract<SyncAction, { readonly do: "elect at look-up" | "elect at unreplicated epoch" }>;

export function electAtRead(action: Election, { server, network, storeHost }: World<Service>): void {
  const { stallMs, downMs } = action;
  if (action.do === "elect at look-up") {
    server.stallReplication(stallMs);
    server.electAfterReads({ collection: collections[action.of], reads: action.lookUps, downMs });
    return;
  }
  server.electAfterReads({
    ...{ collection: collections.logs, reads: 1, downMs },
    unreplicated: {
      stallMs,
      // Otherwise its driver would write the same again.
      onElected: (writer) => {
        network.cut(writer, storeHost, stallMs);
      },
    },
  });
}
