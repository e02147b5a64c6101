import type { KafkaConfig, RouterConfig } from "../kafka-config.ts";
import { createEgressNaming, type EgressNaming } from "../routing/egress.ts";

/** Names the Kafka topics that events are forwarded to. */
export const createNaming = (kafka: KafkaConfig, router: RouterConfig): EgressNaming =>
  createEgressNaming(
    router.egressTopic,
    new Set(
      [
        kafka.announcementsTopic,
        kafka.deadLetterTopic,
        kafka.pushFeedback?.topic,
        kafka.pushFeedback?.deadLetterTopic,
        router.topic,
        router.deadLetterTopic,
        router.unmatchedTopic,
      ].filter((topic) => topic !== undefined),
    ),
  );
