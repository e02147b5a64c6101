import { tokenDigest, type AuditEvent } from "../lib/audit.ts";
import type { InstallationKey } from "./stores.ts";

/** Deactivates installations that somebody chose. */
export interface InstallationDeactivator {
  /**
   * Deactivates those of these ids that are active, and gives them; the reason is kept with each. Registered again, a token is
   * active again. Throws UnavailableError when none could be deactivated; of an outage in between, those before it are given.
   */
  deactivate(ids: readonly string[], reason: string): Promise<readonly InstallationKey[]>;
}

/** What the audit says of tokens that were deactivated. */
export const deactivationEvents = (keys: readonly InstallationKey[], reason: string): AuditEvent[] =>
  keys.map(({ application, platform, token }) => ({
    action: "installation.deactivated",
    application,
    platform,
    tokenDigest: tokenDigest(token),
    reason,
  }));
