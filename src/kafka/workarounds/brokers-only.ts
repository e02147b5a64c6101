import { requestMetadata } from "../protocol/metadata.ts";
import type { RequestTarget } from "../protocol/request.ts";
import { patchMethod } from "./patch.ts";

interface Broker extends RequestTarget {
  metadata(topics?: readonly string[]): Promise<object>;
}

/**
 * Makes kafkajs 2.2.4 ask for the brokers only when a client does not use any topic. It asks for all topics then, which is slow
 * in a large cluster, and fails as long as any partition of any topic has no leader.
 */
export function askForBrokersOnly(): void {
  patchMethod<"metadata", Broker>(
    "broker/index.js",
    "metadata",
    (askForTopics) =>
      async function (this: Broker, topics = []) {
        if (topics.length > 0) return askForTopics.call(this, topics);
        const { brokers, clusterId, controllerId } = await requestMetadata(this, []);
        return { throttleTime: 0, brokers, clusterId, controllerId, topicMetadata: [] };
      },
  );
}
