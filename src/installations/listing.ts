import { createCursorFormat } from "@topicsync/lib/cursor";
import { RejectionError } from "@topicsync/lib/errors";
import { maxPageBytes, measureRecords, recordsPerRead } from "@topicsync/lib/page-bytes";
import type { CatalogStore } from "./catalog.ts";
import type { Installation } from "./installation.ts";
import type { InstallationReader, InstallationSelection } from "./stores.ts";

/** Which installations to list; absent members do not filter. */
export interface InstallationQuery extends Pick<
  InstallationSelection,
  "user" | "active" | "tokenSuffix" | "unseenSince"
> {
  readonly application?: string | undefined;
  readonly platform?: string | undefined;
}

interface InstallationPage {
  readonly installations: readonly Installation[];
  /** The cursor of the next page; undefined at the end. A short or empty page may have one. */
  readonly next: string | undefined;
  /** The number of records examined, as far as known. */
  readonly scanned: number;
}

/** Lists installations in the order of their ids, which never changes. */
export type InstallationListing = ReturnType<typeof createInstallationListing>;

/** The parts of the catalog that a listing reads. */
interface ListedCatalog {
  readonly applications: Pick<CatalogStore["applications"], "list">;
  readonly platforms: Pick<CatalogStore["platforms"], "list">;
}

const maxInstallationsPerPage = 1_000;
const maxSearchMs = 1_000;

const cursors = createCursorFormat("installations", ["string"]);

export function createInstallationListing(reader: InstallationReader, catalog: ListedCatalog) {
  return {
    /**
     * Returns the next installations after a cursor, at most `limit` (1 to 1,000). It searches for about a
     * second; a page of rare matches or large records may be short, and `next` continues. Throws a
     * RejectionError for a bad limit or cursor, and UnavailableError.
     */
    async findPage(
      query: InstallationQuery,
      { after, limit }: { readonly after?: string | undefined; readonly limit: number },
    ): Promise<InstallationPage> {
      if (!Number.isInteger(limit) || limit < 1 || limit > maxInstallationsPerPage) {
        const message = `must be a whole number from 1 to ${maxInstallationsPerPage}`;
        throw new RejectionError("SCHEMA_VIOLATION", `The limit ${message}.`, [{ path: "/limit", message }]);
      }
      const selection = await toSelection(catalog, query);
      const installations: Installation[] = [];
      let scanned = 0;
      let bytes = 0;
      let afterId = after === undefined ? undefined : cursors.decode(after)[0];
      const deadline = performance.now() + maxSearchMs;
      do {
        const chunk = await reader.read(selection, {
          afterId,
          limit: Math.min(limit - installations.length, recordsPerRead),
        });
        installations.push(...chunk.installations);
        scanned += chunk.scanned;
        bytes += measureRecords(chunk.installations);
        afterId = chunk.lastId;
      } while (
        afterId !== undefined &&
        installations.length < limit &&
        bytes < maxPageBytes &&
        performance.now() < deadline
      );
      return { installations, next: afterId === undefined ? undefined : cursors.encode([afterId]), scanned };
    },
  };
}

/** Names every application and platform for a user's tokens, since the owner index begins with them. */
async function toSelection(catalog: ListedCatalog, query: InstallationQuery): Promise<InstallationSelection> {
  const { application, platform, user, active, tokenSuffix, unseenSince } = query;
  const listNames = async (list: ListedCatalog["applications"]): Promise<string[] | undefined> =>
    user === undefined ? undefined : (await list.list()).map(({ name }) => name);
  return {
    applications: application === undefined ? await listNames(catalog.applications) : [application],
    platforms: platform === undefined ? await listNames(catalog.platforms) : [platform],
    user,
    active,
    tokenSuffix,
    unseenSince,
  };
}
