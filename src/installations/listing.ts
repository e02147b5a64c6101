import { RefusalError } from "../lib/errors.ts";
import type { CatalogStore } from "./catalog.ts";
import type { Installation } from "./installation.ts";
import { checkToken } from "./token-rules.ts";

/** Which installations are meant. What is absent does not narrow the choice. */
export interface InstallationFilter {
  readonly application?: string | undefined;
  readonly platform?: string | undefined;
  readonly user?: string | undefined;
  readonly active?: boolean | undefined;
  /** Whose token ends with this. */
  readonly tokenEnd?: string | undefined;
  /** Last seen before this time. */
  readonly unseenSince?: Date | undefined;
}

/** A filter that may name a token, in whatever form the platform's rule takes it. */
export interface InstallationQuery extends InstallationFilter {
  readonly token?: string | undefined;
}

/** Some records next to each other in the order of their ids. */
export interface Stretch {
  /** Those of them that are meant. */
  readonly installations: readonly Installation[];
  /** The id of the last record that was looked at; undefined at the end. */
  readonly last: string | undefined;
  /** How many records were looked at, as far as it is known. */
  readonly looked: number;
}

/** An application on a platform. */
export interface Scope {
  readonly application: string;
  readonly platform: string;
}

/** What leads to installations by an index. */
export interface Narrowing {
  readonly tokens?: readonly string[] | undefined;
  /** For one user. */
  readonly scopes?: readonly Scope[] | undefined;
}

/** Reads stored installations. Every function throws UnavailableError. */
export interface InstallationReader {
  /**
   * Looks at the records behind an id, so few that the store answers soon however rare is what is meant, and gives at
   * most `limit`. With tokens, only records of these; with scopes, only records within one of them.
   */
  read(
    filter: InstallationFilter & Narrowing,
    from: { readonly after: string | undefined; readonly limit: number },
  ): Promise<Stretch>;
  /** About how many records there are. */
  count(): Promise<number>;
}

/** A part of a listing. */
export interface InstallationPage {
  readonly installations: readonly Installation[];
  /** Where the next page begins; undefined at the end. A page that is short, or empty, may have one. */
  readonly next: string | undefined;
  /** How many records were looked at, as far as it is known. */
  readonly looked: number;
}

/** Lists installations in the order of their ids, which never changes. */
export interface InstallationListing {
  /**
   * The next installations behind a cursor, at most `limit` (1 to 1,000). It searches for about a second: where little is
   * meant among much, a page has fewer, and `next` goes on. Throws a RefusalError for a bad limit or cursor, and UnavailableError.
   */
  page(
    query: InstallationQuery,
    from: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<InstallationPage>;
  /** All of them, stretch by stretch. Throws as `page` does. */
  all(query: InstallationQuery, after?: string): AsyncGenerator<Stretch, void, undefined>;
}

/** As many as a page may have. */
export const maxInstallationsPerPage = 1_000;
const searchMs = 1_000;

/** Makes the listing. The catalog tells the platforms' token rules, and what a user's tokens can be of. */
export function createInstallationListing(
  reader: InstallationReader,
  catalog: ListedCatalog,
): InstallationListing {
  /** What narrows a search to tokens, and tells which of what is found is meant. */
  async function tokensOf(token: string | undefined): Promise<TokenSearch> {
    if (token === undefined) return { tokens: undefined, isMeant: () => true };
    const rules = new Map((await catalog.platforms.list()).map(({ name, tokenRule }) => [name, tokenRule]));
    const formFor = (rule: string | undefined): string => {
      const checked = checkToken(token, rule);
      return "token" in checked ? checked.token : token;
    };
    return {
      tokens: [...new Set([token, ...[...rules.values()].map(formFor)])],
      isMeant: (one) => one.token === token || one.token === formFor(rules.get(one.platform)),
    };
  }

  /** Every token is of an application and a platform of the catalog, and nothing is deleted from it. */
  async function scopesOf({ user, application, platform }: InstallationFilter): Promise<Narrowing["scopes"]> {
    if (user === undefined) return undefined;
    const names = async ({ list }: ListedCatalog["applications"]) => (await list()).map(({ name }) => name);
    const applications = application === undefined ? await names(catalog.applications) : [application];
    const platforms = platform === undefined ? await names(catalog.platforms) : [platform];
    return applications.flatMap((one) => platforms.map((other) => ({ application: one, platform: other })));
  }

  async function* stretches(
    { token, ...filter }: InstallationQuery,
    { after, limit }: { readonly after: string | undefined; readonly limit: () => number },
  ): AsyncGenerator<Stretch, void, undefined> {
    const { tokens, isMeant } = await tokensOf(token);
    const scopes = tokens === undefined ? await scopesOf(filter) : undefined;
    let last = after === undefined ? undefined : idIn(after);
    do {
      const stretch = await reader.read({ ...filter, tokens, scopes }, { after: last, limit: limit() });
      yield { ...stretch, installations: stretch.installations.filter(isMeant) };
      ({ last } = stretch);
    } while (last !== undefined);
  }

  return {
    async page(query, { after, limit }) {
      if (!Number.isInteger(limit) || limit < 1 || limit > maxInstallationsPerPage) {
        const message = `must be a whole number from 1 to ${maxInstallationsPerPage}`;
        throw new RefusalError("SCHEMA_VIOLATION", `The limit ${message}.`, [{ path: "/limit", message }]);
      }
      const installations: Installation[] = [];
      let looked = 0;
      const until = performance.now() + searchMs;
      for await (const stretch of stretches(query, { after, limit: () => limit - installations.length })) {
        installations.push(...stretch.installations);
        looked += stretch.looked;
        if (installations.length < limit && performance.now() < until) continue;
        const next = stretch.last === undefined ? undefined : cursorAfter(stretch.last);
        return { installations, next, looked };
      }
      return { installations, next: undefined, looked };
    },
    all: (query, after) => stretches(query, { after, limit: () => maxInstallationsPerPage }),
  };
}

/** What a listing asks of the catalog. */
export interface ListedCatalog {
  readonly applications: Pick<CatalogStore["applications"], "list">;
  readonly platforms: Pick<CatalogStore["platforms"], "list">;
}

interface TokenSearch {
  readonly tokens: readonly string[] | undefined;
  readonly isMeant: (one: Installation) => boolean;
}

const cursorPrefix = "i1:";

/** The cursor that goes on behind an installation. */
export const cursorAfter = (id: string): string =>
  Buffer.from(`${cursorPrefix}${id}`, "utf8").toString("base64url");

/** Throws a RefusalError for what no listing gave. */
function idIn(cursor: string): string {
  const text = Buffer.from(cursor, "base64url").toString("utf8");
  const id = text.slice(cursorPrefix.length);
  // Encoded again it must be the same: decoding passes over whatever is no base64url.
  if (text.startsWith(cursorPrefix) && id !== "" && cursorAfter(id) === cursor) return id;
  throw new RefusalError("SCHEMA_VIOLATION", "The cursor is not one that a listing gave.", [
    { path: "/after", message: "is not a cursor that a listing gave" },
  ]);
}
