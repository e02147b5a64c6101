import { createCursorFormat } from "../lib/cursor.ts";
import { RejectionError } from "../lib/errors.ts";
import { maxPageBytes, measureRecords, recordsPerRead } from "../lib/page-bytes.ts";
import type { CatalogStore } from "./catalog.ts";
import type { Installation } from "./installation.ts";
import type { InstallationChunk, InstallationReader, InstallationSelection } from "./stores.ts";
import { checkToken } from "./token-rules.ts";

/** Which installations to list; absent members do not filter. */
export interface InstallationQuery extends Pick<
  InstallationSelection,
  "user" | "active" | "tokenSuffix" | "unseenSince"
> {
  readonly application?: string | undefined;
  readonly platform?: string | undefined;
  /** A token in any form that the platform's token rule accepts. */
  readonly token?: string | undefined;
}

interface InstallationPage {
  readonly installations: readonly Installation[];
  /** The cursor of the next page; undefined at the end. A short or empty page may have one. */
  readonly next: string | undefined;
  /** The number of records examined, as far as known. */
  readonly scanned: number;
}

/** Lists installations in the order of their ids, which never changes. */
export interface InstallationListing {
  /**
   * Returns the next installations after a cursor, at most `limit` (1 to 1,000). It searches for about a
   * second; a page of rare matches or large records may be short, and `next` continues. Throws a
   * RejectionError for a bad limit or cursor, and UnavailableError.
   */
  findPage(
    query: InstallationQuery,
    page: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<InstallationPage>;
  /** Returns all of them in chunks. Throws as `page` does. */
  streamAll(query: InstallationQuery): AsyncGenerator<InstallationChunk, void, undefined>;
}

/** The parts of the catalog that a listing reads. */
interface ListedCatalog {
  readonly applications: Pick<CatalogStore["applications"], "list">;
  readonly platforms: Pick<CatalogStore["platforms"], "list">;
}

const maxInstallationsPerPage = 1_000;
const maxSearchMs = 1_000;

const cursors = createCursorFormat("installations", ["string"]);

export function createInstallationListing(
  reader: InstallationReader,
  catalog: ListedCatalog,
): InstallationListing {
  async function* readChunks(
    query: InstallationQuery,
    { after, getLimit }: { readonly after: string | undefined; readonly getLimit: () => number },
  ): AsyncGenerator<InstallationChunk, void, undefined> {
    const { tokens, isMatch } = await expandToken(catalog.platforms, query.token);
    const selection = { ...(await toSelection(catalog, query)), tokens };
    let afterId = after === undefined ? undefined : cursors.decode(after)[0];
    do {
      const chunk = await reader.read(selection, { afterId, limit: getLimit() });
      yield { ...chunk, installations: chunk.installations.filter(isMatch) };
      afterId = chunk.lastId;
    } while (afterId !== undefined);
  }

  return {
    async findPage(query, { after, limit }) {
      if (!Number.isInteger(limit) || limit < 1 || limit > maxInstallationsPerPage) {
        const message = `must be a whole number from 1 to ${maxInstallationsPerPage}`;
        throw new RejectionError("SCHEMA_VIOLATION", `The limit ${message}.`, [{ path: "/limit", message }]);
      }
      const installations: Installation[] = [];
      let scanned = 0;
      const deadline = performance.now() + maxSearchMs;
      let bytes = 0;
      const getLimit = (): number => Math.min(limit - installations.length, recordsPerRead);
      const chunks = readChunks(query, { after, getLimit });
      for await (const chunk of chunks) {
        installations.push(...chunk.installations);
        scanned += chunk.scanned;
        bytes += measureRecords(chunk.installations);
        if (installations.length < limit && bytes < maxPageBytes && performance.now() < deadline) continue;
        const next = chunk.lastId === undefined ? undefined : cursors.encode([chunk.lastId]);
        return { installations, next, scanned };
      }
      return { installations, next: undefined, scanned };
    },
    streamAll: (query) => readChunks(query, { after: undefined, getLimit: () => maxInstallationsPerPage }),
  };
}

interface TokenSearch {
  readonly tokens: readonly string[] | undefined;
  readonly isMatch: (one: Installation) => boolean;
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

/** Returns every form in which a platform may have stored the token, and a check of what was found. */
async function expandToken(
  listed: ListedCatalog["platforms"],
  token: string | undefined,
): Promise<TokenSearch> {
  if (token === undefined) return { tokens: undefined, isMatch: () => true };
  const platforms = await listed.list();
  const rules = new Map(platforms.map(({ name, tokenRule }) => [name, tokenRule]));
  const normalize = (rule: string | undefined): string => {
    const checked = checkToken(token, rule);
    return "token" in checked ? checked.token : token;
  };
  return {
    tokens: [...new Set([token, ...[...rules.values()].map(normalize)])],
    isMatch: (one) => one.token === token || one.token === normalize(rules.get(one.platform)),
  };
}
