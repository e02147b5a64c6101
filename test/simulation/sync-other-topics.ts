/** The Kafka topics of the sync's world besides that of the announcements. */
import type { Random, TopicRegistry } from "../simulated-servers/index.ts";
import { deadLetterTopic } from "./sync-service.ts";

export const topicOfOthers = "others";

type Settings = readonly [name: string, value: string][];
/** Some reject what has no key, or is old. */
const deadLetterSettings: readonly [Settings, ...Settings[]] = [
  [],
  [],
  [["cleanup.policy", "compact"]],
  [["message.timestamp.before.max.ms", "50000"]],
];

export function createOtherTopics(registry: TopicRegistry, partitions: number, limits: Random): void {
  if (limits.chance(0.8)) {
    const settings = new Map(limits.pick(deadLetterSettings));
    registry.create({ name: deadLetterTopic, partitions, settings });
  }
  registry.create({ name: topicOfOthers, partitions: 1 });
}
