/** What identifies an installation: one token of one application on one platform. */
export interface InstallationKey {
  readonly application: string;
  readonly platform: string;
  readonly token: string;
}

/** Makes a token active and the user's, whatever it was before. */
export interface RegisterWrite {
  readonly kind: "register";
  readonly key: InstallationKey;
  readonly user: string;
  /** The token that this one replaces: it is deactivated where it is the user's own. */
  readonly previousToken?: string | undefined;
}

/** Deactivates all active tokens of a user for an application on a platform. */
export interface RemoveWrite {
  readonly kind: "remove";
  readonly application: string;
  readonly platform: string;
  readonly user: string;
  readonly reason: string;
}

export type InstallationWrite = RegisterWrite | RemoveWrite;

/** Where installations are kept. Every function throws UnavailableError. */
export interface InstallationStore {
  /**
   * Writes what may be written in any order. Gives for each write what it failed with; undefined for one that is
   * acknowledged. When a registered token was another user's, its record keeps from whom it came and when.
   */
  readonly write: (writes: readonly InstallationWrite[]) => Promise<readonly unknown[]>;
}
