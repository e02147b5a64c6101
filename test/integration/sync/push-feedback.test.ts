import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { call } from "../../support/http.ts";
import { createReport, feedbackStage } from "../../support/feedback-scene.ts";
import { installation } from "../../support/installations.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { getMetric, getSyncStatus } from "../../support/scene.ts";
import { bootstrap, runCli, type TestService } from "../../support/service.ts";

const { createFeedbackScene } = feedbackStage();
const hourMs = 3_600_000;

describe("push feedback", () => {
  const own = createFeedbackScene();
  const { installations, find, report, applied } = own;
  let service: TestService;

  before(async () => {
    service = await own.start();
  });

  const register = async (token: string): Promise<void> => {
    const url = `${service.url}/api/now/push/agent/installation`;
    assert.equal((await call(url, { body: { platform: "ios", token } })).status, 200);
  };
  const getCount = async (outcome: "deactivated" | "renewed" | "inactive" | "unknown"): Promise<number> =>
    (await getSyncStatus(service)).pushFeedback?.counts?.[outcome] ?? NaN;

  it("deactivates a token in every application, with the reason of the push service", async () => {
    const token = unique("token");
    await installations.insertMany([
      installation(token),
      installation(token, { application: "other" }),
      installation(token, { platform: "android" }),
    ]);
    await report(createReport(token));
    await applied();
    const records = await installations.find({ token }).toArray();
    const byPlatform = Map.groupBy(records, ({ platform }) => platform);
    assert.deepEqual(
      byPlatform.get("ios")?.map((one) => [one.active, one.deactivated_reason]),
      [
        [false, "Unregistered"],
        [false, "Unregistered"],
      ],
    );
    assert.ok(byPlatform.get("ios")?.every((one) => one.deactivated_on instanceof Date));
    assert.equal(byPlatform.get("android")?.[0]?.active, true);
  });

  it("does not deactivate a token that was registered after the report, but does so for a later report", async () => {
    const token = unique("token");
    const [renewed, deactivated] = [await getCount("renewed"), await getCount("deactivated")];
    await register(token);
    await report(createReport(token, { reportedOn: new Date(Date.now() - hourMs).toISOString() }));
    await applied();
    assert.equal((await find(token))?.active, true);
    assert.equal(await getCount("renewed"), renewed + 1);
    await report(createReport(token, { reason: "BadDeviceToken", application: "agent" }));
    await applied();
    assert.equal((await find(token))?.deactivated_reason, "BadDeviceToken");
    assert.equal(await getCount("deactivated"), deactivated + 1);
    // The metric is at most a second late.
    const metric = `topicsync_push_feedback_total{outcome="deactivated"}`;
    await until("the metric is updated", async () => (await getMetric(service, metric)) === deactivated + 1);
  });

  it("applies the platform's token rule, as registration does", async () => {
    const platforms = own.db.collection("sys_push_platform");
    await platforms.insertOne({ _id: unique("id") as never, name: "apns", active: true, token_rule: "apns" });
    const token = "00ff".repeat(16);
    await installations.insertOne(installation(token, { platform: "apns" }));
    await report(createReport(token.toUpperCase(), { platform: "apns" }));
    await applied();
    assert.equal((await find(token))?.active, false);
  });

  it("counts an unknown token, and rejects nothing", async () => {
    const [unknown, letters] = [await getCount("unknown"), await own.countDeadLetters()];
    await report(createReport(unique("token")), createReport(unique("token")));
    await applied();
    assert.equal(await getCount("unknown"), unknown + 2);
    assert.equal(await own.countDeadLetters(), letters);
  });

  it("changes nothing if it is read again from the beginning, also if tokens were registered again", async () => {
    const [inactive, renewed] = [unique("token"), unique("token")];
    await installations.insertMany([installation(inactive), installation(renewed)]);
    await report(createReport(inactive), createReport(renewed));
    await applied();
    await register(renewed);
    const before = await installations.find().sort({ _id: 1 }).toArray();
    assert.equal((await find(renewed))?.active, true);
    await own.positions.deleteOne({ _id: own.key });
    await report(createReport(unique("token")));
    await applied();
    assert.deepEqual(await installations.find().sort({ _id: 1 }).toArray(), before);
  });

  it("writes rejected reports to its own dead-letter topic, from which they can be replayed", async () => {
    const token = unique("token");
    const reports = [
      createReport(token, { platform: "later" }),
      "no JSON",
      createReport("t", { application: "none" }),
    ];
    const first = await report(...reports);
    await applied();
    const ids = reports.map((_, i) => `${own.topic}-0-${first + i}`);
    const listed = await own.cli("dead-letters", "list", "--channel", "push-feedback", "--json");
    assert.equal(listed.code, 0, listed.errors);
    const letters = listed.output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string; code: string });
    assert.deepEqual(
      ids.map((id) => letters.filter((one) => one.id === id).map(({ code }) => code)),
      [["UNKNOWN_PLATFORM"], ["MALFORMED_JSON"], ["UNKNOWN_APPLICATION"]],
    );
    const others = await own.cli("dead-letters", "list");
    assert.match(others.output, /There are no dead letters/);

    const platforms = own.db.collection("sys_push_platform");
    await platforms.insertOne({ _id: unique("id") as never, name: "later", active: true });
    // The replay deactivates the first token. The second was registered after the report and stays active.
    const revived = unique("token");
    await installations.insertMany([
      installation(token, { platform: "later" }),
      installation(revived, { platform: "later", last_seen_on: new Date() }),
    ]);
    const replayed = await own.cli(
      "dead-letters",
      "replay",
      "--channel",
      "push-feedback",
      ids[0] ?? "",
      "--yes",
    );
    assert.equal(replayed.code, 0, replayed.errors);
    await applied();
    assert.equal((await find(token))?.active, false);
  });

  it("keeps its time when it is replayed: a token that was registered since stays active", async () => {
    const token = unique("token");
    const first = await report(createReport(token, { platform: "yet to come" }));
    await applied();
    const platforms = own.db.collection("sys_push_platform");
    await platforms.insertOne({ _id: unique("id") as never, name: "yet to come", active: true });
    await installations.insertOne(installation(token, { platform: "yet to come", last_seen_on: new Date() }));
    const id = `${own.topic}-0-${first}`;
    const { code, errors } = await own.cli(
      "dead-letters",
      "replay",
      "--channel",
      "push-feedback",
      id,
      "--yes",
    );
    assert.equal(code, 0, errors);
    await applied();
    assert.equal((await find(token))?.active, true);
    const { output } = await own.cli("dead-letters", "show", "--channel", "push-feedback", id);
    assert.match(output, /applied/);
  });

  it("is part of the status over HTTP and on the command line", async () => {
    const { json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET" });
    assert.equal(json.pushFeedback.consumer, "assigned");
    assert.equal(json.pushFeedback.topic, own.topic);
    assert.equal(json.pushFeedback.partitions[0].lagRecords, 0);
    assert.equal(json.pushFeedback.counts.rejected.MALFORMED_JSON >= 1, true);
    const { output } = await runCli(
      ["status", "--server", service.url, "--user", bootstrap.user],
      own.settings,
      bootstrap.password,
    );
    assert.match(output, new RegExp(`topic ${own.topic}: in sync, every report is applied`));
    assert.match(output, /deactivated \d+, renewed \d+, inactive \d+, unknown \d+, rejected \d+/);
  });

  it("is followed by a clean shutdown", async () => {
    assert.equal(await service.stop(), 0);
  });
});
