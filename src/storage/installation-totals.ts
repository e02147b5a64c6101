import type { InstallationCount } from "../../schemas/overview.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";

interface Group {
  readonly _id: { readonly application: string; readonly platform: string };
  readonly active: number;
  readonly all: number;
}

/** Counts every installation, by application and platform. It looks at each of them. Throws UnavailableError. */
export function readInstallationTotals(database: Database): Promise<InstallationCount[]> {
  return database.run(async () => {
    const groups = await database
      .collection(collections.installations)
      .aggregate<Group>([
        {
          $group: {
            _id: { application: "$application", platform: "$platform" },
            active: { $sum: { $cond: ["$active", 1, 0] } },
            all: { $sum: 1 },
          },
        },
      ])
      .toArray();
    return groups
      .map(({ _id: { application, platform }, active, all }) => ({
        application,
        platform,
        active,
        inactive: all - active,
      }))
      .toSorted((one, other) => nameOf(one).localeCompare(nameOf(other)));
  });
}

const nameOf = ({ application, platform }: InstallationCount): string => `${application}\0${platform}`;
