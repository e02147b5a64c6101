import { sendRequest, supports, type RequestTarget } from "./request.ts";

export interface NewTopic {
  readonly name: string;
  /** -1 for the broker's default, like `replication`. */
  readonly partitions: number;
  readonly replication: number;
  readonly settings: Readonly<Record<string, string>>;
}

interface CreatedTopic {
  readonly name: string;
  /** An error code of Kafka's protocol; 0 if the topic was created. */
  readonly error: number;
  /** The broker's own words, such as those of a policy. */
  readonly message: string | null;
}

const apiKey = 19;
/** How long the controller waits until the brokers know the topics. */
const timeoutMs = 5_000;
const transferTimeoutMs = 10_000;

/**
 * Asks the controller to create topics, each of which may be refused. kafkajs 2.2.4 drops which ones were
 * created when some exist already, and the broker's message. Throws kafkajs' errors.
 */
export const requestTopicCreation = (
  controller: RequestTarget,
  topics: readonly NewTopic[],
): Promise<CreatedTopic[]> =>
  sendRequest(controller, {
    apiKey,
    // Both have the same fields. Kafka 4 has no older ones.
    apiVersion: supports(controller, apiKey, 3) ? 3 : 2,
    apiName: "CreateTopics",
    isFlexible: false,
    timeoutMs: timeoutMs + transferTimeoutMs,
    encode: (writer) =>
      writer
        .list(topics, ({ name, partitions, replication, settings }) =>
          writer
            .text(name)
            .int32(partitions)
            .int16(replication)
            .list([], () => undefined)
            .list(Object.entries(settings), ([setting, value]) => writer.text(setting).text(value)),
        )
        .int32(timeoutMs)
        .boolean(false),
    decode(reader) {
      reader.int32();
      return reader.list(() => ({
        name: reader.text() ?? "",
        error: reader.int16(),
        message: reader.text(),
      }));
    },
  });
