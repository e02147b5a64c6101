import type { Registration, Removal } from "../../schemas/installation.ts";
import { Refusal } from "../errors.ts";
import { roles, type User } from "../users/user.ts";

/** What identifies an installation: one token of one application on one platform. */
export interface InstallationKey {
  readonly application: string;
  readonly platform: string;
  readonly token: string;
}

/** Where installations, applications and platforms are kept. Every function throws Unavailable. */
export interface InstallationStore {
  hasApplication(name: string): Promise<boolean>;
  hasPlatform(name: string): Promise<boolean>;
  /** Makes sure that these exist; those that do are left as they are. */
  ensureApplications(names: readonly string[]): Promise<void>;
  ensurePlatforms(names: readonly string[]): Promise<void>;
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
  /** Throws a Refusal when the application or the platform is unknown or not active, and Unavailable. */
  register(application: string, body: Registration, user: User): Promise<void>;
  /** Deactivates the user's own tokens; everybody's for a push_admin. Gives how many. Throws as `register` does. */
  remove(application: string, body: Removal, user: User): Promise<number>;
}

/** Makes the installation service over a store. */
export function createInstallationService(store: InstallationStore): InstallationService {
  async function checkNames(application: string, platform: string): Promise<void> {
    const [applicationIsKnown, platformIsKnown] = await Promise.all([
      store.hasApplication(application),
      store.hasPlatform(platform),
    ]);
    if (!applicationIsKnown) {
      throw new Refusal("UNKNOWN_APPLICATION", `There is no active push application named "${application}".`);
    }
    if (!platformIsKnown) {
      throw new Refusal("UNKNOWN_PLATFORM", `There is no active push platform named "${platform}".`, [
        { path: "/platform", message: "is not the name of an active push platform" },
      ]);
    }
  }

  return {
    async register(application, { platform, token }, user) {
      await checkNames(application, platform);
      await store.register({ application, platform, token }, user.name);
    },
    async remove(application, { platform }, user) {
      await checkNames(application, platform);
      const isAdmin = user.roles.includes(roles.pushAdmin);
      const reason = isAdmin ? `removed by the administrator ${user.name}` : "removed by its user";
      return store.deactivate({ application, platform, reason, ...(isAdmin ? {} : { user: user.name }) });
    },
  };
}
