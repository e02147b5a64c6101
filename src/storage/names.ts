/** Collections, named as in the specification (section 2) and the contract. */
export const collections = {
  topics: "svc_api_notif_mgmt_topic",
  retiredTopics: "svc_api_notif_mgmt_topic_retired",
  topicVersions: "topicsync_topic_versions",
  topicDetails: "topicsync_topic_details",
  topicDescriptions: "topicsync_topic_descriptions",
  topicSets: "topicsync_topic_sets",
  positions: "topicsync_positions",
  logs: "topicsync_logs",
  deadLetters: "topicsync_dead_letters",
  replays: "topicsync_replays",
  backfills: "topicsync_backfills",
  topicUsage: "topicsync_topic_usage",
  applications: "sys_push_application",
  platforms: "sys_push_platform",
  installations: "sys_push_notif_app_install",
  users: "sys_user",
  sessions: "topicsync_sessions",
  keys: "topicsync_keys",
  jobs: "topicsync_jobs",
  secrets: "topicsync_secrets",
  schema: "topicsync_schema",
  meta: "topicsync_meta",
} as const;

export type CollectionName = (typeof collections)[keyof typeof collections];
