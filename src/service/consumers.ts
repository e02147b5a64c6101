import { deadLetterChannels } from "../../schemas/dead-letter-api.ts";
import type { KafkaConfig } from "../config/kafka-config.ts";
import type { Broker } from "../kafka/client.ts";
import { ConsumerObserver, type GroupReading } from "../routing/consumers.ts";
import type { EgressNaming } from "../kafka/interface/egress-naming.ts";

/** Kafka's tool reads with such a group, which it uses once. */
const temporaryGroup = /^console-consumer-\d+$/;

/** Reads the groups that consume egress topics, without those of topicsync. Throws UnavailableError. */
export function readConsumers(
  broker: Pick<Broker, "readConsumerGroups">,
  { groupId, pushFeedback, router }: KafkaConfig,
  { matches }: EgressNaming,
): Promise<GroupReading> {
  const own = new Set([
    groupId,
    pushFeedback?.groupId,
    router?.groupId,
    ...deadLetterChannels.map((channel) => `${groupId}.dead-letters.${channel}`),
  ]);
  const isOwnGroup = (id: string): boolean => own.has(id) || temporaryGroup.test(id);
  return broker.readConsumerGroups({ isEgressTopic: matches, isOwnGroup });
}

/** Creates the observer of consumers; undefined if no router is configured. */
export const createConsumerObserver = (
  broker: Pick<Broker, "readConsumerGroups">,
  config: KafkaConfig,
  naming: EgressNaming | undefined,
): ConsumerObserver | undefined =>
  naming && new ConsumerObserver(() => readConsumers(broker, config, naming));
