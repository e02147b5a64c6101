import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { stage } from "../../support/scene.ts";
import type { LogLine } from "../../support/service.ts";

const { scene } = stage();

const findWarnings = (log: readonly LogLine[]) =>
  log.filter(({ msg }) => msg?.startsWith("stored position older than delete.retention.ms") === true);

/**
 * Starts and stops a service, then another one with the same settings, and returns the warnings of the
 * second.
 */
async function getWarningsAfterAbsence(
  config: Readonly<Record<string, string>>,
  { retiredMeanwhile }: { readonly retiredMeanwhile: boolean },
): Promise<readonly LogLine[]> {
  const at = scene();
  await at.createTopic(1, config);
  await at.announce(0, 3);
  const first = await at.start();
  await at.reached(3);
  assert.deepEqual(findWarnings(first.log), []);
  assert.equal(await first.stop(), 0);
  if (retiredMeanwhile) await at.retire(0, 1);
  const second = await at.start();
  await at.inStep();
  assert.equal(await second.stop(), 0);
  return findWarnings(second.log);
}

describe("a service that starts after a long absence", () => {
  it("warns that tombstones may have been removed if there is more to read", async () => {
    // Shorter than any start takes.
    const shortLived = { "cleanup.policy": "compact", "delete.retention.ms": "1" };
    const [warning, ...others] = await getWarningsAfterAbsence(shortLived, { retiredMeanwhile: true });
    assert.deepEqual([warning?.["position"], warning?.["delete.retention.ms"]], [3, 1]);
    assert.equal(others.length, 0);
    assert.deepEqual(await getWarningsAfterAbsence(shortLived, { retiredMeanwhile: false }), []);
  });

  it("does not warn while tombstones are kept or if the topic is not compacted", async () => {
    const kept = { "cleanup.policy": "compact", "delete.retention.ms": "2592000000" };
    assert.deepEqual(await getWarningsAfterAbsence(kept, { retiredMeanwhile: true }), []);
    const neverCompacted = { "cleanup.policy": "delete", "delete.retention.ms": "1" };
    assert.deepEqual(await getWarningsAfterAbsence(neverCompacted, { retiredMeanwhile: true }), []);
  });
});
