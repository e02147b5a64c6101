import assert from "node:assert/strict";
import { it } from "node:test";

import type { Admin } from "kafkajs";
import { pino } from "pino";

import { ConfigurationError, KafkaUnavailableError } from "@topicsync/lib/errors";
import { readConfig } from "../../../../src/config/config.ts";
import type { TopicCreation } from "../../admin/topic-creation.ts";
import { ensureTopics } from "../../admin/topics.ts";
import { createError } from "../../protocol/request.ts";

const { kafka: config } = readConfig({});
const partition = { error: 0, partition: 0, leader: 1, leaderEpoch: 0, replicas: [1], isr: [1] };

/** Starts on a broker that has the topics or not, and answers like this. */
async function start({
  isThere,
  refusal,
  describeConfigs = () => Promise.resolve({ resources: [] }),
}: {
  readonly isThere: boolean;
  readonly refusal?: TopicCreation["refusal"];
  readonly describeConfigs?: () => Promise<object>;
}): Promise<string[]> {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => lines.push((JSON.parse(line) as { msg: string }).msg) });
  const requests = {
    fetchMetadata: (names: readonly string[] | null) =>
      Promise.resolve({
        brokers: [],
        clusterId: null,
        controllerId: 1,
        topics: (names ?? []).map((name) => ({
          ...{ name, error: isThere ? 0 : 3, topicId: undefined },
          partitions: isThere ? [{ ...partition, offlineReplicas: [] }] : [],
        })),
      }),
    createTopics: (topics: readonly { readonly name: string }[]) =>
      Promise.resolve(topics.map(({ name }) => ({ name, isCreated: refusal === undefined, refusal }))),
  };
  await ensureTopics({ admin: { describeConfigs } as Partial<Admin> as Admin, requests }, config, log);
  return lines;
}

const policyViolation = 44;
const tooFewBrokers = 38;
const unknown = -1;

const toRefusal = (code: number, isFinal: boolean): TopicCreation["refusal"] => {
  const error = createError(code);
  return { reason: `ask the platform team (${error.type})`, error, isFinal };
};

it("names the Kafka topic that is refused, with the broker's words", async () => {
  const named = /does not create the topic "topicsync\.announcements": ask the platform team \(/u;
  await assert.rejects(
    start({ isThere: false, refusal: toRefusal(policyViolation, true) }),
    (error: Error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.match(error.message, named);
      assert.match(error.message, /POLICY_VIOLATION\)\. Create it yourself/u);
      return true;
    },
  );
  await assert.rejects(
    start({ isThere: false, refusal: toRefusal(tooFewBrokers, false) }),
    (error: Error) => {
      assert.ok(error instanceof KafkaUnavailableError);
      assert.match(error.message, named);
      return true;
    },
  );
});

it("starts although a broker does not tell the settings of topics, unless it is away", async () => {
  const lines = await start({
    isThere: true,
    describeConfigs: () => Promise.reject(createError(unknown)),
  });
  assert.ok(lines.some((line) => line.startsWith("topic settings not checked")));
  const away = new Error("connect ECONNREFUSED");
  await assert.rejects(start({ isThere: true, describeConfigs: () => Promise.reject(away) }), away);
});
