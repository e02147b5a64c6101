import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";

import kafkajs, { type Admin, type Kafka, type Producer } from "kafkajs";
import { MongoClient, type Db } from "mongodb";

import { boundFetches, stopIdleChecks } from "@topicsync/kafka/internals";
import { readConfig } from "../../src/config/config.ts";
import { unique } from "./names.ts";

/** The addresses of a broker and a store. */
export interface StackAddresses {
  readonly mongodb: string;
  readonly kafka: string;
}

/** The broker that `npm test` started, and one of its stores that no other test file is using. */
export function sharedStack(): StackAddresses {
  const { TEST_KAFKA_BROKERS: kafka } = process.env;
  const mongodb = (ownStore ??= takeStore());
  if (mongodb === undefined || kafka === undefined)
    throw new Error("run the tests by `npm test`: it starts what they need");
  return { mongodb, kafka };
}

let ownStore: string | undefined;

/**
 * Takes a free store, by creating its folder, until the process ends. There is one for each concurrent file.
 */
function takeStore(): string | undefined {
  const { TEST_MONGODB_URIS: stores = "", TEST_STORES: folder = "" } = process.env;
  const all = stores.split(" ").filter((store) => store !== "");
  for (const [index, store] of all.entries()) {
    const place = join(folder, `in-use-${index}`);
    try {
      mkdirSync(place);
    } catch {
      continue;
    }
    process.once("exit", () => {
      rmdirSync(place);
    });
    return store;
  }
  // A process that had one was killed and left its folder.
  return all[0];
}

/** The connection string of a database of a store. */
export function databaseUri(store: string, database: string): string {
  const uri = new URL(store);
  uri.pathname = `/${database}`;
  return uri.href;
}

/**
 * Creates a database, of the shared store by default. It is not dropped: that takes SecantusDB longer than
 * most tests, and its store is removed after the run.
 */
export function testDatabase(store = sharedStack().mongodb, name = unique("test")): { uri: string; db: Db } {
  const uri = databaseUri(store, name);
  const client = new MongoClient(uri);
  const db = client.db();
  after(() => client.close());
  return { uri, db };
}

/** Clients of a broker, disconnected after the tests of this file. */
export function testKafka(brokers: string): { kafka: Kafka; admin: Admin; producer: Producer } {
  boundFetches(readConfig({}).kafka.maxBatchBytes);
  stopIdleChecks();
  const kafka = new kafkajs.Kafka({
    clientId: "test",
    brokers: brokers.split(","),
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: 20 },
  });
  const admin = kafka.admin();
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  after(async () => {
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  });
  return { kafka, admin, producer };
}
