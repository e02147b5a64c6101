/** Dead letters on the command line. */
import assert from "node:assert/strict";
import { after, before } from "node:test";

import type { Message } from "kafkajs";

import { createBroker } from "@topicsync/kafka/client";
import { createLogger } from "@topicsync/lib/logger";
import type { LogRecord } from "@topicsync/kafka";
import type { DeadLetterItem, DeadLetterView } from "../../schemas/dead-letters/dead-letter.ts";
import { readConfig } from "../../src/config/config.ts";
import { deadLetterMessage, prove } from "./dead-letters.ts";
import { createKafkaTopics } from "./kafka-topics.ts";
import { parseNdjson } from "./ndjson.ts";
import { stage } from "./scene.ts";
import { runCli } from "./service.ts";
import { sharedStack } from "./stack.ts";

/** Connects to the shared broker for the tests of a file. */
export async function deadLetterStage() {
  const { admin, producer, scene } = stage();
  const broker = createBroker(
    { ...readConfig({}).kafka, brokers: [sharedStack().kafka] },
    await createLogger("silent"),
  );
  const { signal: never } = new AbortController();
  before(() => broker.reach(never));
  after(() => broker.close());

  /** Creates a scene with the command line connected to it. */
  function createScene() {
    const own = scene();
    const { settings, topic, deadLetterTopic } = own;
    const deadLetters = (...args: string[]) => runCli(["dead-letters", ...args], settings);
    async function run(...args: string[]) {
      const { code, output, errors } = await deadLetters(...args, "--json");
      assert.equal(code, 0, errors);
      return output;
    }
    const list = async (...args: string[]) => parseNdjson(await run("list", ...args)) as DeadLetterItem[];
    const show = async (id: string) => JSON.parse(await run("show", id)) as DeadLetterView;
    const createTopics = (partitions = 1) =>
      createKafkaTopics(
        admin,
        { topic, numPartitions: partitions },
        { topic: deadLetterTopic, numPartitions: 1 },
      );
    async function readRecords(of: string): Promise<LogRecord[]> {
      const records: LogRecord[] = [];
      for await (const { record } of broker.read(of, { abort: never })) records.push(record);
      return records;
    }
    /** Sends dead letters as the service does. */
    const sendLetters = async (letters: readonly Message[]): Promise<void> => {
      const messages = await prove(own.db, deadLetterTopic, letters);
      await producer.send({ topic: deadLetterTopic, messages });
    };
    return { ...own, deadLetters, list, show, createTopics, readRecords, sendLetters };
  }

  return { producer, createScene };
}

export const deadLetter = (
  topic: string,
  offset: number,
  options: Parameters<typeof deadLetterMessage>[1] = {},
) => deadLetterMessage({ topic, partition: 0, offset }, { time: Date.now() - 3_600_000, ...options });
