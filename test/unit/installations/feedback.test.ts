import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { RejectionError } from "@topicsync/lib/errors";
import { FencedError } from "@topicsync/kafka";
import {
  decideFeedback,
  type DecodedReport,
  type SeenInstallation,
} from "../../../src/installations/feedback.ts";
import { createFeedbackStore } from "../../../src/storage/installations/push-feedback.ts";
import { applyFeedback } from "../../support/apply-batch.ts";
import { connectDatabase } from "../../support/database.ts";
import { installation as record, type InstallationRecord } from "../../support/installations.ts";

const at = (hour: number): Date => new Date(Date.UTC(2026, 10, 21, hour));

const installation = (more: Partial<SeenInstallation> = {}): SeenInstallation => ({
  id: "an id",
  application: "agent",
  platform: "ios",
  token: "t",
  active: true,
  lastSeenOn: at(8),
  ...more,
});

let offset = 0;
const report = (reportedOn: Date, more: { application?: string; platform?: string } = {}): DecodedReport => ({
  offset: offset++,
  report: {
    application: undefined,
    platform: "ios",
    token: "t",
    reason: `at ${reportedOn.getUTCHours()}`,
    reportedOn,
    ...more,
  },
});

const outcomes = (reports: DecodedReport[], stored: SeenInstallation[]): Record<string, number> =>
  Object.fromEntries(Object.entries(decideFeedback(reports, stored).counts).filter(([, count]) => count > 0));

describe("deciding push feedback", () => {
  it("deactivates a token that was last seen before the report, or at the same time", () => {
    for (const hour of [8, 9]) {
      const { writes } = decideFeedback([report(at(hour))], [installation()]);
      assert.deepEqual(writes, [
        {
          id: "an id",
          application: "agent",
          platform: "ios",
          token: "t",
          reason: `at ${hour}`,
          unseenSince: at(hour),
        },
      ]);
    }
  });

  it("leaves a token alone that was registered after the report", () => {
    assert.deepEqual(outcomes([report(at(7))], [installation()]), { renewed: 1 });
  });

  it("applies reports in order, so later ones find the token inactive", () => {
    const reports = [report(at(7)), report(at(9)), report(at(10))];
    assert.deepEqual(outcomes(reports, [installation()]), { renewed: 1, deactivated: 1, inactive: 1 });
    const { writes } = decideFeedback(reports, [installation()]);
    assert.deepEqual(
      writes.map(({ reason }) => reason),
      ["at 9"],
    );
  });

  it("selects every application if none is named", () => {
    const stored = [installation(), installation({ id: "another id", application: "other" })];
    const decideIds = (one: DecodedReport) => decideFeedback([one], stored).writes.map(({ id }) => id);
    assert.deepEqual(decideIds(report(at(9))), ["an id", "another id"]);
    assert.deepEqual(decideIds(report(at(9), { application: "other" })), ["another id"]);
    assert.deepEqual(decideIds(report(at(9), { application: "third" })), []);
    assert.deepEqual(decideIds(report(at(9), { platform: "android" })), []);
  });

  it("counts unknown, inactive and rejected tokens", () => {
    const rejected = { offset: 99, rejection: new RejectionError("BAD_TOKEN", "no") };
    const reports = [report(at(9)), report(at(9), { platform: "android" }), rejected];
    assert.deepEqual(outcomes(reports, [installation({ active: false })]), {
      inactive: 1,
      unknown: 1,
      rejected: 1,
    });
    assert.deepEqual(decideFeedback(reports, []).rejections, [rejected]);
  });
});

describe("applying push feedback to a real store", async () => {
  const { db, database, log } = await connectDatabase();
  const records = db.collection<InstallationRecord>("sys_push_notif_app_install");
  const store = createFeedbackStore(database, log);
  const known = (name: string) => Promise.resolve({ name, active: true });
  const catalog = { getApplication: known, getPlatform: known };
  const key = { group: "group", topic: "feedback", partition: 0 };
  const to = { offset: 1, epoch: 1 };

  it("leaves a token alone that is registered between read and write", async () => {
    await records.insertMany([record("t"), record("t", { application: "other" })]);
    const racing = {
      ...store,
      findTokens: async (tokens: readonly string[]) => {
        const found = await store.findTokens(tokens);
        await records.updateOne({ application: "agent" }, { $set: { last_seen_on: new Date() } });
        return found;
      },
    };
    await store.claim(key);
    const reports = [report(new Date(Date.now() - 60_000))];
    const onLetter = () => assert.fail("nothing is rejected");
    await applyFeedback({ store: racing, catalog, key, from: undefined, to, reports, onLetter });
    const found = await records.find().sort({ application: 1 }).toArray();
    assert.deepEqual(
      found.map(({ application, active }) => [application, active]),
      [
        ["agent", true],
        ["other", false],
      ],
    );
    assert.deepEqual(await store.findPositions("group", "feedback"), new Map([[0, to]]));
  });

  it("changes nothing, and sends no dead letter, for a fenced consumer", async () => {
    await records.deleteMany({});
    await records.insertOne(record("t"));
    let letters = 0;
    const reports = [report(new Date()), { offset: 5, rejection: new RejectionError("BAD_TOKEN", "no") }];
    const stale = { key, from: undefined, to: { offset: 2, epoch: 1 }, reports };
    const onLetter = () => (letters += 1);
    await assert.rejects(applyFeedback({ store, catalog, ...stale, onLetter }), FencedError);
    assert.equal((await records.findOne({}))?.active, true);
    assert.equal(letters, 0);
  });
});
