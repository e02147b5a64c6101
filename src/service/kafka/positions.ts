import {
  type KafkaConfig,
  FencedError,
  type Position,
  type PositionKey,
  type BatchStore,
} from "@topicsync/kafka";
import type { Broker } from "@topicsync/kafka/client";
import { deadLetterChannels } from "../../../schemas/dead-letters/dead-letter.ts";
import type { PositionedConsumer } from "./set-positions.ts";
import type { DeadLetterStore } from "../../dead-letters/stores.ts";
import type { Services } from "../services.ts";

interface Sources {
  readonly broker: Broker;
  readonly services: Pick<Services, "topicStore" | "deadLetterStore" | "logStore">;
}

interface ReadTopic {
  readonly topic: string;
  readonly groupId: string;
}

type Access = Pick<PositionedConsumer, "isInKafka" | "findPositions" | "setPosition">;

/** The consumers of the settings, and the readers of their dead letters. */
export function listPositionedConsumers(
  { announcementsTopic: topic, deadLetterTopic, groupId, pushFeedback, router }: KafkaConfig,
  { broker, services }: Sources,
): PositionedConsumer[] {
  const channels = {
    announcements: { topic, deadLetterTopic, groupId },
    "push-feedback": pushFeedback,
    events: router,
  };
  const create = (name: string, { topic, groupId }: ReadTopic, access: Access): PositionedConsumer => ({
    name,
    group: groupId,
    topic,
    watch: broker.watch(topic),
    observer: broker.observe({ topic, groupId }),
    logs: services.logStore,
    ...access,
  });
  return deadLetterChannels.flatMap((channel) => {
    const read = channels[channel];
    if (read === undefined) return [];
    const letters = { topic: read.deadLetterTopic, groupId: `${groupId}.dead-letters.${channel}` };
    return [
      create(
        channel,
        read,
        channel === "events" ? accessKafka(read, broker) : accessDatabase(read, services.topicStore),
      ),
      create(`dead-letters.${channel}`, letters, accessDeadLetters(letters, services.deadLetterStore)),
    ];
  });
}

const accessDatabase = (
  { topic, groupId: group }: ReadTopic,
  store: Pick<BatchStore<unknown>, "findPositions" | "setPosition">,
): Access => ({
  isInKafka: false,
  findPositions: () => store.findPositions(group, topic),
  setPosition: (partition, from, to) => store.setPosition({ group, topic, partition }, from, to),
});

/** Those of another log can no longer be shown. */
const accessDeadLetters = (read: ReadTopic, store: DeadLetterStore): Access => ({
  ...accessDatabase(read, store),
  async setPosition(partition, from, to) {
    const key: PositionKey = { group: read.groupId, topic: read.topic, partition };
    await store.removeReplaced({ key, from, to });
    return store.setPosition(key, from, to);
  },
});

const accessKafka = (read: ReadTopic, broker: Broker): Access => ({
  isInKafka: true,
  findPositions: () => broker.fetchCommittedOffsets(read),
  setPosition: (partition, from, to) => commitPosition(broker, { ...read, partition }, { from, to }),
});

/**
 * Takes the partition over from a running router, which then looks its position up again. Kafka would not
 * accept an offset of an active group in another way.
 */
async function commitPosition(
  broker: Broker,
  { topic, groupId, partition }: ReadTopic & { readonly partition: number },
  { from, to }: { readonly from: Position | undefined; readonly to: Position },
): Promise<boolean> {
  const transactions = broker.createTransactions({ partition: { topic, partition }, groupId });
  try {
    const claimed = await transactions.claim();
    // Within its log, a busy router moves it all the time.
    if (claimed?.epoch !== from?.epoch || claimed?.topicId !== from?.topicId) return false;
    await (await transactions.begin(to)).commit();
    return true;
  } catch (error) {
    if (error instanceof FencedError) return false;
    throw error;
  } finally {
    await transactions.close();
  }
}
