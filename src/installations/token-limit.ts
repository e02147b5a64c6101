import type { CatalogStore } from "./catalog.ts";
import type { InstallationKey } from "./installation.ts";
import type { InstallationDeactivator, InstallationReader } from "./stores.ts";

/** Limits the active tokens of each user and application. */
export type TokenLimit = ReturnType<typeof createTokenLimit>;

interface TokenLimitOptions {
  readonly max: number;
  readonly reader: Pick<InstallationReader, "findSurplus">;
  readonly deactivator: Pick<InstallationDeactivator, "deactivateUnseen">;
  readonly platforms: Pick<CatalogStore["platforms"], "list">;
}

/**
 * Safe with several instances: each keeps the same newest tokens, and deactivates others only while they are
 * as old as it has read.
 */
export const createTokenLimit = ({ max, reader, deactivator, platforms }: TokenLimitOptions) => ({
  /**
   * Deactivates the tokens of a user that are beyond the limit, those first that were not seen for the
   * longest time, and never the one that was just registered. Returns how many. Throws UnavailableError.
   */
  async enforce({ application, token }: InstallationKey, user: string): Promise<number> {
    const names = (await platforms.list()).map(({ name }) => name);
    const surplus = await reader.findSurplus({ application, platforms: names, user, token, keep: max - 1 });
    if (surplus.length === 0) return 0;
    const newest = Math.max(...surplus.map(({ lastSeenOn }) => lastSeenOn.getTime()));
    return deactivator.deactivateUnseen(
      surplus.map(({ id }) => id),
      { unseenSince: new Date(newest + 1), reason: `more than ${max} active tokens of the user` },
    );
  },
});
