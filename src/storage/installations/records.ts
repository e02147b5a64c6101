import type { DeviceAttributes } from "../../installations/attributes.ts";
import type { Installation } from "../../installations/installation.ts";

/** A push installation as stored (specification 2.3). */
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
  /** Oldest first, each with the time at which the token moved on. */
  previous_owners?: { user: string; until: Date }[];
  attributes?: DeviceAttributes;
}

/**
 * The update that deactivates an installation. Its time never goes back: another instance's clock may be
 * ahead.
 */
export const toDeactivation = (reason: string, now: Date, updatedOn = now) => ({
  $set: { active: false, deactivated_on: now, deactivated_reason: reason },
  $max: { sys_updated_on: updatedOn },
});

export const fromInstallationRecord = (record: InstallationRecord): Installation => ({
  id: record._id,
  application: record.application,
  platform: record.platform,
  token: record.token,
  user: record.user,
  active: record.active,
  createdOn: record.sys_created_on,
  updatedOn: record.sys_updated_on,
  lastSeenOn: record.last_seen_on,
  deactivatedOn: record.deactivated_on,
  deactivatedReason: record.deactivated_reason,
  previousOwners: record.previous_owners ?? [],
  attributes: record.attributes,
});

export const toInstallationRecord = (one: Installation): InstallationRecord => ({
  _id: one.id,
  token: one.token,
  application: one.application,
  platform: one.platform,
  user: one.user,
  active: one.active,
  sys_created_on: one.createdOn,
  sys_updated_on: one.updatedOn,
  last_seen_on: one.lastSeenOn,
  ...(one.deactivatedOn === undefined ? {} : { deactivated_on: one.deactivatedOn }),
  ...(one.deactivatedReason === undefined ? {} : { deactivated_reason: one.deactivatedReason }),
  ...(one.previousOwners.length === 0 ? {} : { previous_owners: [...one.previousOwners] }),
  ...(one.attributes === undefined ? {} : { attributes: one.attributes }),
});
