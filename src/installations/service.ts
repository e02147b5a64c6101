import type { Registration, Removal } from "../../schemas/installation.ts";
import { RefusalError } from "../lib/errors.ts";
import { roles, type User } from "../users/user.ts";
import type { PushPlatform } from "./catalog.ts";
import type { Catalog } from "./catalog-cache.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { RemoveAllTokens } from "./removal.ts";
import { storedToken } from "./token-rules.ts";

/** The tokens of a registration in the form in which they are stored. */
export interface Registered {
  readonly token: string;
  readonly previousToken: string | undefined;
}

/** Registration and removal of push tokens (specification 4.1 and 4.2). */
export interface InstallationService {
  /**
   * Throws a RefusalError when the application or the platform is unknown or not active, or when the token breaks the
   * platform's rule, OverloadedError and UnavailableError.
   */
  register(application: string, body: Registration, user: User): Promise<Registered>;
  /** Deactivates the user's own tokens; everybody's for a push_admin. Throws as `register` does. */
  remove(application: string, body: Removal, user: User): Promise<void>;
}

/** What the installation service writes with: the group commit, and a removal beside it that holds up no registration. */
export interface InstallationWriters {
  readonly submit: GroupCommit["submit"];
  readonly removeAllTokens: RemoveAllTokens;
}

/** Creates the installation service. */
export function createInstallationService(
  { submit, removeAllTokens }: InstallationWriters,
  catalog: Catalog,
): InstallationService {
  async function platformOf(application: string, name: string): Promise<PushPlatform> {
    const knownApplication = await catalog.application(application);
    const platform = await catalog.platform(name);
    if (knownApplication?.active !== true) {
      throw new RefusalError(
        "UNKNOWN_APPLICATION",
        `There is no active push application named "${application}".`,
      );
    }
    if (platform?.active !== true) {
      throw new RefusalError("UNKNOWN_PLATFORM", `There is no active push platform named "${name}".`, [
        { path: "/platform", message: "is not the name of an active push platform" },
      ]);
    }
    return platform;
  }

  return {
    async register(application, body, user) {
      const platform = await platformOf(application, body.platform);
      const token = storedToken(platform, body.token, "/token");
      const previous = body.previousToken ?? undefined;
      const previousToken =
        previous === undefined ? undefined : storedToken(platform, previous, "/previousToken");
      await submit({
        kind: "register",
        key: { application, platform: platform.name, token },
        user: user.name,
        previousToken,
      });
      return { token, previousToken };
    },
    async remove(application, body, user) {
      const platform = await platformOf(application, body.platform);
      const scope = { application, platform: platform.name };
      if (user.roles.includes(roles.pushAdmin))
        await removeAllTokens({ ...scope, reason: `removed by the administrator ${user.name}` });
      else await submit({ kind: "remove", ...scope, user: user.name, reason: "removed by its user" });
    },
  };
}
