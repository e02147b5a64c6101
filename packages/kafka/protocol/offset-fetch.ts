import { ConfigurationError } from "@topicsync/lib/errors";
import { failOnError, sendRequest, supports, type RequestTarget } from "./request.ts";

export interface CommittedOffset {
  /** -1 if nothing was committed. */
  readonly offset: number;
  readonly metadata: string;
}

export interface OffsetQuery {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
}

const apiKey = 9;
/** Kafka 2.5: the first that can ask for stable offsets. */
const apiVersion = 7;

/**
 * Reads an offset that transactions commit. kafkajs 2.2.4 returns the old one while a commit is still being
 * completed. Throws kafkajs' errors: UNSTABLE_OFFSET_COMMIT in that case. Throws a ConfigurationError if the
 * broker is too old. See docs/decisions/017-router-on-transactions.md.
 */
export async function requestStableOffset(
  coordinator: RequestTarget,
  { groupId, topic, partition }: OffsetQuery,
): Promise<CommittedOffset> {
  if (!supports(coordinator, apiKey, apiVersion))
    throw new ConfigurationError("the router needs brokers of Kafka 2.5 or later (OffsetFetch 7)");
  return sendRequest(coordinator, {
    apiKey,
    apiVersion,
    apiName: "OffsetFetch",
    isFlexible: true,
    encode(writer) {
      writer.text(groupId);
      writer.list([topic], (name) => {
        writer
          .text(name)
          .list([partition], (one) => writer.int32(one))
          .end();
      });
      writer.boolean(true).end();
    },
    decode(reader) {
      reader.int32();
      const [found] = reader
        .list(() => {
          reader.text();
          const partitions = reader.list(() => {
            reader.int32();
            const offset = Number(reader.int64());
            reader.int32();
            const metadata = reader.text() ?? "";
            failOnError(reader.int16());
            reader.end();
            return { offset, metadata };
          });
          reader.end();
          return partitions;
        })
        .flat();
      failOnError(reader.int16());
      return found ?? { offset: -1, metadata: "" };
    },
  });
}
