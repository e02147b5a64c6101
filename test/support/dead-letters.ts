import type { TestContext } from "node:test";

import type { Message } from "kafkajs";
import type { Binary, Db } from "mongodb";

import { createBroker } from "@topicsync/kafka/client";
import { toHeaderList } from "@topicsync/kafka/internals";
import { createLifecycle } from "@topicsync/lib/lifecycle";
import { createLogger } from "@topicsync/lib/logger";
import { createDeadLetters, type DeadLettersOptions } from "../../src/service/dead-letters.ts";
import { createServices } from "../../src/service/services.ts";
import { readConfig } from "../../src/config/config.ts";
import type { DeadLetterService, ReplayRequest } from "../../src/dead-letters/service.ts";
import { createProof } from "../../src/dead-letters/proof.ts";
import { createDatabase } from "../../src/storage/database/database.ts";
import type { Scene } from "./scene.ts";

const { signal: never } = new AbortController();

/** Connects to the broker and store of a scene. `open` reads its dead letters again, as each command does. */
export async function connectDeadLetters(t: TestContext, { settings, uri }: Pick<Scene, "settings" | "uri">) {
  const log = await createLogger("silent");
  const config = readConfig(settings);
  const broker = createBroker({ ...config.kafka, brokers: [settings.KAFKA_BROKERS] }, log);
  const database = createDatabase(uri, log);
  t.after(() => Promise.all([broker.close(), database.close()]));
  await Promise.all([broker.reach(never), database.connect(never)]);
  const services = createServices({ config, database, lifecycle: createLifecycle(log), log });
  /** Without `onProgress` as a service does, which has not started to read. */
  const create = (onProgress?: DeadLettersOptions["onProgress"]) =>
    createDeadLetters(config.kafka, {
      ...{ services, broker, abort: never, log },
      ...(onProgress && { onProgress }),
    });
  const open = (): DeadLetterService => create(() => undefined).services.announcements;
  /** Plans to replay these, by default all. */
  const plan = async (request: Partial<ReplayRequest> = {}) => {
    const service = open();
    const { deadLetters } = await service.list({ filter: { namespaces: "all" }, limit: 1_000 });
    return service.plan({ ids: deadLetters.map(({ id }) => id), namespaces: "all", ...request });
  };
  return { broker, create, open, plan };
}

interface MessageOptions {
  readonly value?: string | Buffer | null;
  readonly key?: string | Buffer;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string | Buffer>>;
  /** Of the dead-letter topic. */
  readonly partition?: number;
  /** Milliseconds since 1970. */
  readonly time?: number;
}

/** A dead letter as the service writes it, with the position of the original record. */
export const deadLetterMessage = (
  source: { readonly topic: string; readonly partition: number; readonly offset: number },
  { value = "no JSON", key, code = "MALFORMED_JSON", headers, partition, time }: MessageOptions = {},
) => ({
  key: key ?? null,
  value,
  ...(partition !== undefined && { partition }),
  ...(time !== undefined && { timestamp: String(time) }),
  headers: {
    "__connect.errors.topic": source.topic,
    "__connect.errors.partition": String(source.partition),
    "__connect.errors.offset": String(source.offset),
    "__connect.errors.exception.class.name": `topicsync.${code}`,
    "__connect.errors.exception.message": "The announcement is not JSON.",
    "topicsync.id": `${source.topic}-${source.partition}-${source.offset}`,
    "topicsync.code": code,
    "topicsync.details": "[]",
    ...headers,
  },
});

/** The key of the proofs in the databases of tests that have none yet. */
export const proofKey = Buffer.alloc(32, "tests");

async function findProofKey(db: Db): Promise<Buffer> {
  const secrets = db.collection<{ _id: string; value: Binary | Buffer }>("topicsync_secrets");
  // A service may create its own at the same time.
  await secrets
    .updateOne({ _id: "replays" }, { $setOnInsert: { value: proofKey } }, { upsert: true })
    .catch(() => undefined);
  const found = await secrets.findOne({ _id: "replays" }, { promoteBuffers: true });
  return Buffer.from(found?.value as Buffer);
}

/** Proves that the service with a database, or with the key of the tests, has written messages to a topic. */
export async function prove<M extends Message>(
  by: Db | Buffer,
  topic: string,
  messages: readonly M[],
): Promise<M[]> {
  const key = Buffer.isBuffer(by) ? by : await findProofKey(by);
  return messages.map((message) => proveOne(key, topic, message));
}

export function proveOne<M extends Pick<Message, "key" | "value" | "headers">>(
  key: Buffer,
  topic: string,
  message: M,
): M {
  const toBytes = (part: Buffer | string | null | undefined) => (part == null ? null : Buffer.from(part));
  const content = {
    key: toBytes(message.key),
    value: toBytes(message.value),
    headers: toHeaderList(message.headers),
  };
  return {
    ...message,
    headers: { ...message.headers, "topicsync.proof": createProof(key, topic, content) },
  };
}
