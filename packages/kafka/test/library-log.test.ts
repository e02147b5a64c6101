import assert from "node:assert/strict";
import { describe, it } from "node:test";

import kafkajs from "kafkajs";

import { createLogger } from "@topicsync/lib/logger";
import { createLibraryLog } from "../library-log.ts";

/** Returns what is logged at "warn" for these messages of kafkajs. */
async function listWarnings(messages: readonly string[], brokers = ["a:1", "b:1"]): Promise<string[]> {
  const lines: string[] = [];
  const log = await createLogger("warn", { write: (line) => void lines.push(JSON.parse(line).msg) });
  const write = createLibraryLog({ brokers, isClosed: () => false, log });
  for (const message of messages)
    write({
      ...{ namespace: "Consumer", level: kafkajs.logLevel.ERROR, label: "ERROR" },
      log: { timestamp: "", message },
    });
  return lines;
}

describe("a warning of the Kafka client", () => {
  it("is logged once, however often it is repeated", async () => {
    const crash = (port: number) => `Crash: KafkaJSConnectionError: connect ECONNREFUSED 127.0.0.1:${port}`;
    assert.deepEqual(await listWarnings([crash(9_092), crash(9_092), crash(9_093), "another"]), [
      `kafkajs: ${crash(9_092)}`,
      "kafkajs: another",
    ]);
  });

  it("is not logged for a restart, or while a broker loads its groups", async () => {
    assert.deepEqual(
      await listWarnings([
        "Restarting the consumer in 1000ms",
        "Crash: KafkaJSNumberOfRetriesExceeded: The coordinator is loading and hence can't process requests for this group",
      ]),
      [],
    );
  });
});
