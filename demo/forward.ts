import { setTimeout as sleep } from "node:timers/promises";

import { type KafkaConfig, type RouterConfig, formatRecordPosition, getHeaderText } from "@topicsync/kafka";
import type { Broker } from "@topicsync/kafka/client";
import { routedEventHeader } from "../schemas/routed-event.ts";
import { createEgressNamingFromConfig } from "../src/service/egress-naming.ts";

/** A copy of an event, as a consumer of an egress topic reads it. */
export interface ForwardedCopy {
  readonly externalId: string;
  readonly egressTopic: string;
}

export interface ForwardOptions {
  readonly broker: Broker;
  readonly kafka: KafkaConfig;
  readonly router: RouterConfig;
}

const pollIntervalMs = 100;
const maxPolls = 300;

/** Sends an event to the events topic, and reads its copies once the router has passed it. */
export async function forwardEvent(event: Buffer, options: ForwardOptions): Promise<ForwardedCopy[]> {
  const { broker, kafka, router } = options;
  const { topic } = router;
  const producer = broker.createProducer(topic);
  const [sent] = await producer.send([{ key: null, value: event, headers: [], timestamp: undefined }]);
  await producer.close();
  if (sent === undefined || "rejection" in sent) throw new Error(`Kafka rejects the event in ${topic}`);
  await waitUntilForwarded(sent, options);

  const id = formatRecordPosition({ topic, ...sent });
  const naming = createEgressNamingFromConfig({ ...kafka, router });
  const egressTopics = (await broker.createEgressTopics(undefined).list()).filter(
    (name) => naming?.matches(name) === true,
  );
  const copies: ForwardedCopy[] = [];
  for (const egressTopic of egressTopics)
    for await (const { record } of broker.read(egressTopic, { abort: new AbortController().signal }))
      if (getHeaderText(record.headers, routedEventHeader.event) === id)
        copies.push({
          externalId: getHeaderText(record.headers, routedEventHeader.topic) ?? "",
          egressTopic,
        });
  return copies.toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1));
}

async function waitUntilForwarded(
  { partition, offset }: { readonly partition: number; readonly offset: number },
  { broker, router }: ForwardOptions,
): Promise<void> {
  for (let polls = 0; polls < maxPolls; polls += 1) {
    const positions = await broker.fetchCommittedOffsets(router);
    if ((positions.get(partition)?.offset ?? 0) > offset) return;
    await sleep(pollIntervalMs);
  }
  throw new Error(
    `the event was sent to ${router.topic}, but not forwarded within ${(maxPolls * pollIntervalMs) / 1_000} s: see \`topicsync status\``,
  );
}
