/** Error codes of Kafka's protocol. kafkajs 2.2.4 does not know those above 100. */
export const errorCodes = {
  offsetOutOfRange: 1,
  unknownTopicOrPartition: 3,
  leaderNotAvailable: 5,
  notLeader: 6,
  requestTimedOut: 7,
  invalidTopic: 17,
  unknownMemberId: 25,
  topicAuthorizationFailed: 29,
  topicAlreadyExists: 36,
  notController: 41,
  fencedLeaderEpoch: 74,
  unknownLeaderEpoch: 75,
  unknownTopicId: 100,
  transactionalIdNotFound: 105,
  inconsistentTopicId: 103,
} as const;
