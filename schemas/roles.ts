/** What a role allows. */
export const roles = {
  /** Creating topics (specification 5), and all else that is about them. */
  eventManagement: "svc_api_notif_mgmt.event_mgmt_integration",
  /** Deactivating everybody's push tokens. */
  pushAdmin: "push_admin",
  /** Seeing and changing users, and push applications and platforms. */
  admin: "topicsync_admin",
} as const;
