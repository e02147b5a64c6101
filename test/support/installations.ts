import { unique } from "./names.ts";

/** A record of the installations, as the store has it. */
export interface InstallationRecord {
  _id: string;
  token: string;
  application: string;
  platform: string;
  user: string;
  active: boolean;
  sys_created_on: Date;
  sys_updated_on: Date;
  last_seen_on: Date;
  deactivated_on?: Date;
  deactivated_reason?: string;
  previous_owners?: { user: string; until: Date }[];
}

/** An active token of Ann's, seen an hour ago, but for what is given. */
export function installation(token: string, more: Partial<InstallationRecord> = {}): InstallationRecord {
  const on = new Date(Date.now() - 3_600_000);
  const dates = { sys_created_on: on, sys_updated_on: on, last_seen_on: on };
  const owner = { user: "ann", application: "agent", platform: "ios" };
  return { _id: unique("id"), token, active: true, ...owner, ...dates, ...more };
}
