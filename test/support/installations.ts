import type { InstallationRecord } from "../../src/storage/installations/records.ts";
import { unique } from "./names.ts";

export type { InstallationRecord };

/** Creates an active installation of Ann, seen an hour ago, with other fields if given. */
export function installation(token: string, more: Partial<InstallationRecord> = {}): InstallationRecord {
  const on = new Date(Date.now() - 3_600_000);
  const dates = { sys_created_on: on, sys_updated_on: on, last_seen_on: on };
  const owner = { user: "ann", application: "agent", platform: "ios" };
  return { _id: unique("id"), token, active: true, ...owner, ...dates, ...more };
}
