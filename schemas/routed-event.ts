/** The headers that a forwarded event has besides its own. */
export const routedEventHeader = {
  /** The external id of the topic. */
  topic: "topicsync.topic",
  /** `topic-partition-offset` of the event: the same for all of its copies. */
  event: "topicsync.event",
  /**
   * On the dead letter of an event, and on its replay: the external ids of the topics that it could not be forwarded to, as a
   * JSON array. Absent: to none of its topics.
   */
  undelivered: "topicsync.undelivered",
} as const;
