import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { stage } from "../../support/scene.ts";
import { startTopicsync, type LogLine } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const { admin, scene } = stage(sharedStack());

const warnings = (log: readonly LogLine[]) =>
  log.filter(({ msg }) => msg?.startsWith("stored position older than delete.retention.ms") === true);

/** The warnings of a service that starts again where one was stopped before, with the announcements topic set up like this. */
async function warningsAfterAbsence(
  settings: Readonly<Record<string, string>>,
  { retiredMeanwhile }: { readonly retiredMeanwhile: boolean },
): Promise<readonly LogLine[]> {
  const at = scene();
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await createKafkaTopics(admin, { topic: at.topic, numPartitions: 1, configEntries });
  await at.announce(0, 3);
  const first = await startTopicsync(at.settings);
  await at.reached(3);
  assert.deepEqual(warnings(first.log), []);
  assert.equal(await first.stop(), 0);
  if (retiredMeanwhile) await at.retire(0, 1);
  const second = await startTopicsync(at.settings);
  await second.ready();
  await at.inStep();
  assert.equal(await second.stop(), 0);
  return warnings(second.log);
}

describe("a service that comes back after a long time", () => {
  it("warns that tombstones may be gone, when there is more to read", async () => {
    // Shorter than any start takes.
    const settings = { "cleanup.policy": "compact", "delete.retention.ms": "1" };
    const [warning, ...others] = await warningsAfterAbsence(settings, { retiredMeanwhile: true });
    assert.deepEqual([warning?.["position"], warning?.["delete.retention.ms"]], [3, 1]);
    assert.equal(others.length, 0);
    assert.deepEqual(await warningsAfterAbsence(settings, { retiredMeanwhile: false }), []);
  });

  it("does not warn while tombstones are kept, nor where nothing is compacted away", async () => {
    const kept = { "cleanup.policy": "compact", "delete.retention.ms": "2592000000" };
    assert.deepEqual(await warningsAfterAbsence(kept, { retiredMeanwhile: true }), []);
    const neverCompacted = { "cleanup.policy": "delete", "delete.retention.ms": "1" };
    assert.deepEqual(await warningsAfterAbsence(neverCompacted, { retiredMeanwhile: true }), []);
  });
});
