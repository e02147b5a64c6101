import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { warnAboutSharedEgress } from "../../../src/service/warnings.ts";
import { readConfig } from "../../../src/config/config.ts";

async function countWarnings(
  settings: Readonly<Record<string, string>>,
  hasLimited: boolean,
): Promise<number> {
  let count = 0;
  const log = await createLogger("warn", { write: () => void (count += 1) });
  const hasLimitedRights = () => Promise.resolve(hasLimited);
  await warnAboutSharedEgress(readConfig(settings).kafka, { hasLimitedRights, log });
  return count;
}

const router = { KAFKA_EVENTS_TOPIC: "events" };

describe("a start with rights that are limited to namespaces", () => {
  it("warns unless Kafka topics are, too", async () => {
    assert.equal(await countWarnings({ ...router, KAFKA_EGRESS_TOPIC: "to.{externalId}" }, true), 1);
    assert.equal(await countWarnings({ ...router, KAFKA_EGRESS_TOPIC: "to.{namespace}" }, true), 0);
    assert.equal(await countWarnings(router, false), 0);
    assert.equal(await countWarnings({}, true), 0);
  });
});
