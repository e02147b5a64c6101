import { type KafkaConfig, createEgressNaming, type EgressNaming } from "@topicsync/kafka";

/** Names the Kafka topics that events are forwarded to. Returns undefined if no router is configured. */
export function createEgressNamingFromConfig(kafka: KafkaConfig): EgressNaming | undefined {
  const { announcementsTopic, deadLetterTopic, pushFeedback, router } = kafka;
  if (router === undefined) return undefined;
  const ownTopics = [
    announcementsTopic,
    deadLetterTopic,
    pushFeedback?.topic,
    pushFeedback?.deadLetterTopic,
    router.topic,
    router.deadLetterTopic,
    router.unmatchedTopic,
  ];
  return createEgressNaming(router.egressTopic, new Set(ownTopics.filter((topic) => topic !== undefined)));
}
