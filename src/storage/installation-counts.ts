import type { Database } from "./database.ts";
import { collections } from "./names.ts";

/** How many installations there are. */
export interface PlatformCount {
  readonly active: number;
  readonly all: number;
}

/** Counts the installations of these applications, on one platform or on all, by their index. Throws UnavailableError. */
export function countInstallations(
  database: Database,
  { applications, platform }: { readonly applications: readonly string[]; readonly platform?: string },
): Promise<PlatformCount> {
  const installations = database.collection(collections.installations);
  const filter = {
    application: { $in: [...applications] },
    ...(platform === undefined ? {} : { platform }),
  };
  return database.run(async () => {
    const [active, all] = await Promise.all([
      installations.countDocuments({ ...filter, active: true }),
      installations.countDocuments(filter),
    ]);
    return { active, all };
  });
}
