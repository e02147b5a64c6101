export const roles = {
  /** Creates topics (specification, section 5) and manages them. */
  eventManagement: "svc_api_notif_mgmt.event_mgmt_integration",
  /** Deactivates push tokens of all users. */
  pushAdmin: "push_admin",
  /** Manages users, push applications and push platforms. */
  admin: "topicsync_admin",
} as const;
