/**
 * Fault of kafkajs 2.2.4, broker/index.js:174: a client that does not use any topic asks for the metadata of
 * all topics. This is slow in a large cluster, and fails as long as any partition of any topic has no leader.
 * The test in test/unit/kafka/workarounds/fetches.test.ts fails when kafkajs no longer needs this.
 */

import { requestMetadata } from "../protocol/metadata.ts";
import type { RequestTarget } from "../protocol/request.ts";
import { patchMethod } from "./patch.ts";

interface Broker extends RequestTarget {
  metadata(topics?: readonly string[]): Promise<object>;
}

/** Makes kafkajs ask for the brokers only when a client does not use any topic, in the whole process. */
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
