import { join } from "node:path";

import type { Contestant } from "./contestant.ts";
import { kafkaConnect } from "../sync/kafka-connect.ts";

const root = join(import.meta.dirname, "../..");

/** The least that anybody would write; see floor.ts. */
export const floor: Contestant = {
  name: "floor",
  command: ({ brokers, uri, topic, folder }) => ({
    command: process.execPath,
    args: [join(root, "bench/sync/floor.ts"), brokers, uri, topic],
    logFile: join(folder, "floor.log"),
  }),
};

/** The service, built, as it runs in production. */
export const service: Contestant = {
  name: "service",
  command: ({ brokers, uri, topic, database, folder }) => ({
    command: process.execPath,
    // As the first line of the published program has it.
    args: ["--max-semi-space-size=16", "--heap-growing-percent=100", join(root, "dist/src/cli.js"), "start"],
    logFile: join(folder, "service.log"),
    env: {
      NODE_ENV: "production",
      LOG_LEVEL: "info",
      HTTP_PORT: "0",
      MONGODB_URI: uri,
      KAFKA_BROKERS: brokers,
      KAFKA_ANNOUNCEMENTS_TOPIC: topic,
      KAFKA_DEAD_LETTER_TOPIC: `${topic}.dead-letter`,
      KAFKA_GROUP_ID: database,
    },
  }),
};

export const contestants: readonly Contestant[] = [floor, service, kafkaConnect];
