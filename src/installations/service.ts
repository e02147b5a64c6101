import { RejectionError } from "@topicsync/lib/errors";
import type { Registration, Removal } from "../../schemas/installations/installation.ts";
import type { User } from "../users/user.ts";
import { readDeviceAttributes } from "./attributes.ts";
import type { CatalogRecord } from "./catalog.ts";
import type { Catalog } from "./catalog-cache.ts";
import { toRemovalReason } from "./deactivation.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { DeactivateAll } from "./stores.ts";
import type { TokenLimit } from "./token-limit.ts";
import { normalizeToken } from "./token-rules.ts";

/** The tokens of a registration, as stored. */
interface RegisteredTokens {
  readonly token: string;
  readonly previousToken: string | undefined;
  /** How many of the user's tokens were deactivated because of the limit. */
  readonly surplus: number;
}

/** Registration and removal of push tokens (specification 4.1 and 4.2). */
export type InstallationService = ReturnType<typeof createInstallationService>;

interface InstallationWriters {
  readonly submit: GroupCommit["submit"];
  /** Runs outside the group commit, so that registrations need not wait for it. */
  readonly deactivateAll: DeactivateAll;
  /** Undefined: users can have any number of tokens. */
  readonly tokenLimit?: TokenLimit | undefined;
}

export function createInstallationService(
  { submit, deactivateAll, tokenLimit }: InstallationWriters,
  catalog: Catalog,
) {
  async function findActivePlatform(application: string, name: string): Promise<CatalogRecord> {
    const knownApplication = await catalog.getApplication(application);
    const platform = await catalog.getPlatform(name);
    if (knownApplication?.active !== true) {
      throw new RejectionError(
        "UNKNOWN_APPLICATION",
        `There is no active push application named "${application}".`,
      );
    }
    if (platform?.active !== true) {
      throw new RejectionError("UNKNOWN_PLATFORM", `There is no active push platform named "${name}".`, [
        { path: "/platform", message: "is not the name of an active push platform" },
      ]);
    }
    return platform;
  }

  return {
    /**
     * Throws a RejectionError when the application or the platform is unknown or disabled, or when the token
     * violates the platform's rule; OverloadedError and UnavailableError.
     */
    async register(application: string, body: Registration, user: User): Promise<RegisteredTokens> {
      const platform = await findActivePlatform(application, body.platform);
      const token = normalizeToken(platform, body.token, "/token");
      const previous = body.previousToken ?? undefined;
      const previousToken =
        previous === undefined ? undefined : normalizeToken(platform, previous, "/previousToken");
      const key = { application, platform: platform.name, token };
      const attributes = readDeviceAttributes(body.attributes);
      await submit({ kind: "register", key, user: user.name, previousToken, attributes });
      const surplus = tokenLimit === undefined ? 0 : await tokenLimit.enforce(key, user.name);
      return { token, previousToken, surplus };
    },

    /**
     * Deactivates the user's own tokens, only one of them, or all users' tokens. Whether the user may do that
     * is for the caller to check. Returns the token as stored, if it is only one. Throws as `register` does.
     */
    async remove(application: string, body: Removal, user: User): Promise<string | undefined> {
      const platform = await findActivePlatform(application, body.platform);
      const scope = { application, platform: platform.name };
      if (body.scope === "all") {
        if (typeof body.token === "string") {
          throw new RejectionError("SCHEMA_VIOLATION", "The body has both a token and a scope.", [
            { path: "/scope", message: "is not possible together with a token" },
          ]);
        }
        await deactivateAll({ ...scope, reason: toRemovalReason(user.name) });
        return undefined;
      }
      const token =
        typeof body.token === "string" ? normalizeToken(platform, body.token, "/token") : undefined;
      await submit({ kind: "remove", ...scope, user: user.name, token, reason: "removed by its user" });
      return token;
    },
  };
}
