import type { AnyBulkWriteOperation } from "mongodb";

import { compareTexts } from "@topicsync/filters";
import type { Logger } from "@topicsync/lib/logger";
import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import type { Deactivation, FeedbackStore, SeenInstallation } from "../../installations/feedback.ts";
import type { Database } from "../database/database.ts";
import { toDeactivation, type InstallationRecord } from "./records.ts";
import { collections } from "../names.ts";
import { createPositions } from "../positions.ts";

/** Several small queries in parallel are faster than a large one. */
const tokensPerQuery = 200;

export function createFeedbackStore(database: Database, log: Logger): FeedbackStore {
  const installations = database.collection<InstallationRecord>(collections.installations);
  // A lost position is not derived from installations, since reading a report twice changes nothing.
  const positions = createPositions<readonly Deactivation[]>(database, {
    log,
    decidedOn: [collections.installations],
    async write(deactivations, options) {
      if (deactivations.length === 0) return;
      const now = new Date();
      // In one order everywhere: in some products, a transaction holds its records until it ends.
      const ordered = deactivations.toSorted((a, b) => compareTexts(a.token, b.token));
      const operations = ordered.map((one) => toOperation(one, now));
      await installations.bulkWrite(operations, { ...options, ordered: false });
    },
  });

  async function find(tokens: string[]): Promise<SeenInstallation[]> {
    const projection = { token: 1, application: 1, platform: 1, active: 1, last_seen_on: 1 } as const;
    const records = await installations.find({ token: { $in: tokens } }, { projection }).toArray();
    return records.map(({ _id: id, token, application, platform, active, last_seen_on }) => {
      return { id, token, application, platform, active, lastSeenOn: last_seen_on };
    });
  }

  return {
    ...positions,

    findTokens: (tokens) =>
      database.run(async () =>
        (await Promise.all(splitIntoBatches(tokens, tokensPerQuery).map(find))).flat(),
      ),
  };
}

/** Leaves a token alone that was registered since it was read. The token is the shard key. */
const toOperation = (
  { id, token, reason, unseenSince }: Deactivation,
  now: Date,
): AnyBulkWriteOperation<InstallationRecord> => ({
  updateOne: {
    filter: { _id: id, token, active: true, last_seen_on: { $lte: unseenSince } },
    update: toDeactivation(reason, now),
  },
});
