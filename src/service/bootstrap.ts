import { hostname } from "node:os";

import type { Audit, Origin } from "@topicsync/lib/audit/audit";
import { NameTakenError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import type { Config } from "../config/config.ts";
import type { CatalogStore, NamedStore } from "../installations/catalog.ts";
import { addBootstrapUser, resetBootstrapUser } from "../users/administration.ts";
import { everyRole, type UserStore } from "../users/user.ts";

interface BootstrapOptions {
  readonly users: UserStore;
  readonly catalog: CatalogStore;
  readonly audit: Audit;
  readonly log: Logger;
}

/** Creates the user, applications and platforms of the settings if missing. Throws UnavailableError. */
export async function bootstrap(
  { bootstrap: user, push }: Pick<Config, "bootstrap" | "push">,
  { users, catalog, audit, log }: BootstrapOptions,
): Promise<void> {
  const origin: Origin = { via: "settings", by: "settings", from: hostname() };
  if (user !== undefined) {
    const { user: name, password, reset } = user;
    if (await addBootstrapUser(users, name, password))
      audit.record({ action: "user.added", user: name, roles: everyRole }, origin);
    else if (reset) {
      log.warn({ user: name }, "bootstrap user is reset at each start, unset BOOTSTRAP_RESET");
      if (await resetBootstrapUser(users, name, password))
        audit.record({ action: "user.changed", user: name, roles: everyRole }, origin);
    }
  }
  for (const application of await ensureNames(catalog.applications, push.applications))
    audit.record({ action: "application.added", application }, origin);
  for (const platform of await ensureNames(catalog.platforms, push.platforms))
    audit.record({ action: "platform.added", platform }, origin);
}

/** Creates the missing ones of these names and returns them. */
async function ensureNames(store: NamedStore, names: readonly string[]): Promise<string[]> {
  const added: string[] = [];
  for (const name of names) {
    if ((await store.find(name)) !== undefined) continue;
    try {
      await store.insert({ name, active: true });
      added.push(name);
    } catch (error) {
      // Another instance added it at the same time.
      if (!(error instanceof NameTakenError)) throw error;
    }
  }
  return added;
}
