import { createCursorFormat } from "@topicsync/lib/cursor";
import type { LookedUp, LookUpBody } from "../../schemas/installations/look-up.ts";
import { readDeviceAttributes } from "./attributes.ts";
import { createUnknownError, type CatalogStore } from "./catalog.ts";
import type { InstallationReader } from "./stores.ts";

/**
 * Finds the active tokens of many users, for programs that send to them. Throws a RejectionError for an
 * unknown application or platform and for a bad cursor, and UnavailableError.
 */
export type LookUpTokens = (body: LookUpBody) => Promise<LookedUp>;

/** At most 4 MB of tokens, and as much of attributes. */
const tokensPerPage = 1_000;

const cursors = createCursorFormat("look-up", ["string", "string"]);

export function createLookUp(
  reader: Pick<InstallationReader, "readActive">,
  catalog: CatalogStore,
): LookUpTokens {
  async function listPlatforms(platform: string | undefined): Promise<string[]> {
    const names = (await catalog.platforms.list()).map(({ name }) => name);
    if (platform === undefined) return names;
    if (names.includes(platform)) return [platform];
    throw createUnknownError("platform", platform);
  }

  return async ({ users, application, platform, attributes, after }) => {
    if ((await catalog.applications.find(application)) === undefined)
      throw createUnknownError("application", application);
    const platforms = await listPlatforms(platform ?? undefined);
    const [user, id] = typeof after === "string" ? cursors.decode(after) : [];
    const { installations, hasNext } = await reader.readActive(
      { application, platforms, users: [...new Set(users)], attributes: readDeviceAttributes(attributes) },
      {
        after: user === undefined || id === undefined ? undefined : { user, id },
        limit: tokensPerPage,
      },
    );
    const last = hasNext ? installations.at(-1) : undefined;
    return {
      installations: installations.map((one) => ({
        id: one.id,
        user: one.user,
        platform: one.platform,
        token: one.token,
        lastSeenOn: one.lastSeenOn.toISOString(),
        ...(one.attributes === undefined ? {} : { attributes: one.attributes }),
      })),
      next: last === undefined ? null : cursors.encode([last.user, last.id]),
    };
  };
}
