import { Option, type Command } from "commander";

import { createInstallationListing, type InstallationListing } from "../../installations/listing.ts";
import type { InstallationQuery } from "../../installations/listing.ts";
import { createCatalogStore } from "../../storage/catalog.ts";
import type { Database } from "../../storage/database.ts";
import { createInstallationReader } from "../../storage/installation-reader.ts";
import { newId } from "../../lib/sys-id.ts";
import { parseDuration } from "../input/options.ts";

/** The options that choose installations, as they were given. */
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

/** Adds the options that choose installations. */
export const withInstallationFlags = (command: Command): Command =>
  withScope(command)
    .option("--user <name>", "of this user")
    .addOption(new Option("--active", "only active ones").conflicts("inactive"))
    .option("--inactive", "only inactive ones")
    .option("--unseen-for <duration>", "not seen for this time: 12h, 270d", parseDuration)
    .option("--token <token>", "of this token, in any form that the platform's token rule takes");

/** Adds the options that narrow to an application and a platform. */
export const withScope = (command: Command): Command =>
  command
    .option("--application <name>", "of this push application")
    .option("--platform <name>", "of this push platform");

/** What the options say. */
export const toInstallationQuery = (flags: InstallationFlags): InstallationQuery => ({
  application: flags.application,
  platform: flags.platform,
  user: flags.user,
  active: flags.active ?? (flags.inactive ? false : undefined),
  unseenSince: flags.unseenFor === undefined ? undefined : new Date(Date.now() - flags.unseenFor),
  token: flags.token,
});

/** The listing of a database. */
export const createListing = (database: Database): InstallationListing =>
  createInstallationListing(createInstallationReader(database), createCatalogStore(database, newId));
