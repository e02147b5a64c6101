import { Option, type Command } from "commander";

import type { InstallationQuery } from "../../installations/listing.ts";
import { parseDuration } from "../input/options.ts";

/** The parsed options that filter installations. */
export interface InstallationFlags {
  readonly application?: string;
  readonly platform?: string;
  readonly user?: string;
  readonly active?: true;
  readonly inactive?: true;
  /** Milliseconds. */
  readonly unseenFor?: number;
  readonly token?: string;
}

export const addInstallationFlags = (command: Command): Command =>
  addScopeFlags(command)
    .option("--user <name>", "only this user's")
    .addOption(new Option("--active", "only active ones").conflicts("inactive"))
    .option("--inactive", "only inactive ones")
    .option("--unseen-for <duration>", "only those not registered for this long: 12h, 270d", parseDuration)
    .option("--token <token>", "only this token, in any form that the platform's token rule accepts");

/** Adds the options that filter by application and platform. */
export const addScopeFlags = (command: Command): Command =>
  command
    .option("--application <name>", "only those of this push application")
    .option("--platform <name>", "only those on this push platform");

export const toInstallationQuery = (flags: InstallationFlags): InstallationQuery => ({
  application: flags.application,
  platform: flags.platform,
  user: flags.user,
  active: flags.active ?? (flags.inactive ? false : undefined),
  unseenSince: flags.unseenFor === undefined ? undefined : new Date(Date.now() - flags.unseenFor),
  token: flags.token,
});
