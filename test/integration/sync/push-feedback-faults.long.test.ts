import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { getPort } from "../../support/local.ts";
import { createReport, feedbackStage } from "../../support/feedback-scene.ts";
import { installation } from "../../support/installations.ts";
import { killAt, type Moment } from "../../support/kill-at.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { waitUntilNotReady, waitUntilReady } from "../../support/scene.ts";
import { startTopicsync } from "../../support/service.ts";

const { stack, createFeedbackScene } = feedbackStage();

describe("push feedback during faults", () => {
  it("is applied once although the service is killed several times", async () => {
    const own = createFeedbackScene();
    await own.prepare();
    const tokens = Array.from({ length: 2_400 }, (_, i) => `token-${i}`);
    const bad = Array.from({ length: 24 }, () => "no JSON");
    for (let at = 0; at < tokens.length; at += 400) {
      const some = tokens.slice(at, at + 400);
      await own.installations.insertMany(some.map((token) => installation(token)));
      await own.report(...some.map((token) => createReport(token)), ...bad.slice(at / 100, at / 100 + 4));
    }
    const deactivated = new Map<string, Date | undefined>();
    async function killOnce(moment: Moment): Promise<void> {
      await killAt(moment, own, stack.mongodb);
      const found = await own.installations.find({ active: false }).toArray();
      for (const one of found) if (!deactivated.has(one._id)) deactivated.set(one._id, one.deactivated_on);
    }
    await killOnce({ command: "commitTransaction", nth: 1 });
    await killOnce({ command: "update", collection: own.installations.collectionName, nth: 2 });
    // Nothing is applied yet if each of these commits was that of the first batch.
    do await killOnce({ command: "commitTransaction", nth: 2 });
    while (deactivated.size === 0);
    assert.ok(deactivated.size < tokens.length, "every report was applied before the last kill");
    const service = await startTopicsync(own.settings);
    await own.applied();
    assert.equal(await own.countInactive(), tokens.length);
    const after = new Map(
      (await own.installations.find().toArray()).map((one) => [one._id, one.deactivated_on]),
    );
    for (const [id, on] of deactivated) assert.deepEqual(after.get(id), on, "it was deactivated twice");
    const { output } = await own.cli("dead-letters", "list", "--channel", "push-feedback", "--json");
    assert.equal(output.trim().split("\n").length, bad.length);
    assert.equal(await service.stop(), 0);
  });

  it("waits while MongoDB is unavailable, reports it, rejects nothing, and resumes without help", async () => {
    const own = createFeedbackScene();
    await own.prepare();
    const store = await startMongoProxy(getPort(stack.mongodb));
    const tokens = Array.from({ length: 1_000 }, (_, i) => `token-${i}`);
    await own.installations.insertMany(tokens.map((token) => installation(token)));
    const service = await own.start({ MONGODB_URI: store.uri(own.db.databaseName) });
    await own.report(...tokens.slice(0, 600).map((token) => createReport(token)));
    await until("some installations are inactive", async () => (await own.countInactive()) > 0);
    store.cut();
    await own.report(...tokens.slice(600).map((token) => createReport(token)));
    await waitUntilNotReady(service, "pushFeedback");
    store.heal();
    await waitUntilReady(service);
    await own.applied();
    assert.equal(await own.countInactive(), tokens.length);
    assert.equal(await own.countDeadLetters(), 0);
    assert.equal(await service.stop(), 0);
  });
});
