import { after } from "node:test";

import { createBroker } from "@topicsync/kafka/client";
import { createLogger } from "@topicsync/lib/logger";
import { readConfig } from "../../src/config/config.ts";
import { unique } from "./names.ts";
import { sharedStack } from "./stack.ts";

/** Connects to the shared broker as a service does, until the tests of this file end. */
export async function connectBroker(groupId = unique("group")) {
  const config = { ...readConfig({}).kafka, groupId, brokers: [sharedStack().kafka] };
  const broker = createBroker(config, await createLogger("silent"));
  await broker.reach(new AbortController().signal);
  after(() => broker.close());
  return broker;
}
