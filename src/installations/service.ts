import type { Registration, Removal } from "../../schemas/installation.ts";
import { Refusal } from "../errors.ts";
import { roles, type User } from "../users/user.ts";
import type { CatalogStore, PushPlatform } from "./catalog.ts";
import { checkToken } from "./token-rules.ts";

/** What identifies an installation: one token of one application on one platform. */
export interface InstallationKey {
  readonly application: string;
  readonly platform: string;
  readonly token: string;
}

/** Where installations are kept. Every function throws Unavailable. */
export interface InstallationStore {
  /**
   * Stores the token as active and as the user's, whatever it was before. When it was another user's, the record keeps
   * from whom it came and when.
   */
  register(key: InstallationKey, user: string): Promise<void>;
  /** Deactivates active tokens, of one user or (without one) of everybody, and gives how many there were. */
  deactivate(which: {
    readonly application: string;
    readonly platform: string;
    readonly user?: string;
    readonly reason: string;
  }): Promise<number>;
}

/** Registration and removal of push tokens (specification 4.1 and 4.2). */
export interface InstallationService {
  /**
   * Throws a Refusal when the application or the platform is unknown or not active, or when the token breaks the
   * platform's rule, and Unavailable.
   */
  register(application: string, body: Registration, user: User): Promise<void>;
  /** Deactivates the user's own tokens; everybody's for a push_admin. Gives how many. Throws as `register` does. */
  remove(application: string, body: Removal, user: User): Promise<number>;
}

/** Makes the installation service over a store. */
export function createInstallationService(
  store: InstallationStore,
  catalog: CatalogStore,
): InstallationService {
  async function platformOf(application: string, name: string): Promise<PushPlatform> {
    const [knownApplication, platform] = await Promise.all([
      catalog.applications.find(application),
      catalog.platforms.find(name),
    ]);
    if (knownApplication?.active !== true) {
      throw new Refusal("UNKNOWN_APPLICATION", `There is no active push application named "${application}".`);
    }
    if (platform?.active !== true) {
      throw new Refusal("UNKNOWN_PLATFORM", `There is no active push platform named "${name}".`, [
        { path: "/platform", message: "is not the name of an active push platform" },
      ]);
    }
    return platform;
  }

  return {
    async register(application, { platform, token }, user) {
      const { tokenRule } = await platformOf(application, platform);
      const checked = checkToken(token, tokenRule);
      if ("fault" in checked) throw badToken(platform, checked.fault);
      await store.register({ application, platform, token: checked.token }, user.name);
    },
    async remove(application, { platform }, user) {
      await platformOf(application, platform);
      const isAdmin = user.roles.includes(roles.pushAdmin);
      const reason = isAdmin ? `removed by the administrator ${user.name}` : "removed by its user";
      return store.deactivate({ application, platform, reason, ...(isAdmin ? {} : { user: user.name }) });
    },
  };
}

const badToken = (platform: string, fault: string): Refusal =>
  new Refusal("BAD_TOKEN", `The platform "${platform}" does not take this token.`, [
    { path: "/token", message: fault },
  ]);
