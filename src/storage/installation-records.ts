/** A record of the push notification installations (specification 2.3). */
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
  /** Whose it was before, the latest last, and until when. */
  previous_owners?: { user: string; until: Date }[];
}

/** The update that makes an installation inactive. */
export const deactivation = (reason: string, now: Date) => ({
  $set: { active: false, sys_updated_on: now, deactivated_on: now, deactivated_reason: reason },
});
