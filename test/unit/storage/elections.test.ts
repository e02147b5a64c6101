import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { before, describe, it } from "node:test";

import { ObjectId, type MongoClient } from "mongodb";

import { PrimaryChangedError, type PositionStep } from "@topicsync/kafka";
import { createInstallationDeactivator } from "../../../src/storage/installations/deactivation.ts";
import { toDatabase } from "../../../src/storage/database/database.ts";
import { openPositions } from "../../support/positions.ts";
import { connectDatabase } from "../../support/database.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";

const { db, database, log } = await connectDatabase();

/** A client that reports what it is told about the servers. */
function createClient() {
  const client = Object.assign(new EventEmitter(), { db: () => ({}) });
  return {
    database: toDatabase(client as unknown as MongoClient, log),
    report: (...servers: readonly object[]): void => {
      const byAddress = new Map(servers.map((server, index) => [`host-${index}`, server]));
      client.emit("topologyDescriptionChanged", { newDescription: { servers: byAddress } });
    },
  };
}

describe("the name of the primary", () => {
  it("changes with each election, and not while there is no primary", () => {
    const { database, report } = createClient();
    assert.equal(database.getPrimary(), undefined);
    const [first, second] = [new ObjectId(), new ObjectId()];
    report({ type: "RSSecondary" }, { type: "RSPrimary", electionId: first });
    assert.equal(database.getPrimary(), first.toHexString());
    report({ type: "RSSecondary" }, { type: "RSSecondary" });
    assert.equal(database.getPrimary(), first.toHexString());
    report({ type: "RSPrimary", electionId: second }, { type: "RSSecondary" });
    assert.equal(database.getPrimary(), second.toHexString());
  });

  it("is announced when it changes, and when the primary becomes a secondary", () => {
    const { database, report } = createClient();
    let elections = 0;
    const stop = database.onElection(() => (elections += 1));
    const [first, second] = [new ObjectId(), new ObjectId()];
    const primary = { type: "RSPrimary", electionId: first };
    report(primary, { type: "RSSecondary" });
    report(primary, { type: "Unknown" });
    assert.equal(elections, 0);
    report({ type: "Unknown" }, { type: "Unknown" });
    assert.equal(elections, 0, "a monitor that lost its connection says nothing of an election");
    report({ type: "RSSecondary" }, { type: "Unknown" });
    assert.equal(elections, 1);
    report({ type: "RSSecondary" }, { type: "RSPrimary", electionId: second });
    assert.equal(elections, 2);
    report({ type: "RSSecondary" }, { type: "RSPrimary", electionId: second });
    assert.equal(elections, 2);
    stop();
    report(primary, { type: "RSSecondary" });
    assert.equal(elections, 2);
  });

  it("is unknown on a standalone server and behind mongos", () => {
    const { database, report } = createClient();
    report({ type: "Standalone" });
    assert.equal(database.seesElections(), true);
    report({ type: "Mongos" }, { type: "Mongos" });
    assert.equal(database.getPrimary(), undefined);
    report({ type: "Unknown" }, { type: "Unknown" });
    assert.equal(database.seesElections(), false);
  });
});

describe("a batch that was decided on another primary", () => {
  let primary = "first";
  const key = { group: "group", topic: "announcements", partition: 0 };
  const step: PositionStep = { key, from: undefined, to: { offset: 5, epoch: 1 }, primary };
  const positions = openPositions({ ...database, getPrimary: () => primary });
  before(() => positions.claim(key));

  it("is neither stored nor followed by dead letters", async () => {
    primary = "second";
    for (const use of ["checkPosition", "commit"] as const) {
      const batch = await positions.begin(step);
      await batch.write(() => Promise.resolve());
      const failure = batch[use]();
      await assert.rejects(failure, PrimaryChangedError);
      assert.equal(await failure.catch((error: unknown) => batch.canRetry(error)), false);
      await batch.end();
    }
    assert.equal((await positions.claim(key))?.offset, undefined);
  });

  it("is stored once it was decided again", async () => {
    const batch = await positions.begin({ ...step, primary: "second" });
    await batch.write(() => Promise.resolve());
    await batch.checkPosition();
    await batch.commit();
    await batch.end();
    assert.equal((await positions.claim(key))?.offset, 5);
  });
});

describe("an administrator's request to deactivate installations", () => {
  it("includes one that was read as inactive on data that an election loses", async () => {
    const installations = db.collection<InstallationRecord>("sys_push_notif_app_install");
    const [active, reactivated] = [installation("a"), installation("b", { active: false })];
    await installations.insertMany([active, reactivated]);
    let confirmed = 0;
    const deactivator = createInstallationDeactivator({
      ...database,
      async confirmReads() {
        confirmed += 1;
        if (confirmed > 1) return true;
        await installations.updateOne({ _id: reactivated._id }, { $set: { active: true } });
        return false;
      },
    });
    const deactivated = await deactivator.deactivateByIds([active._id, reactivated._id], "lost");
    assert.deepEqual(
      deactivated.map(({ token }) => token),
      [active.token, reactivated.token],
    );
    assert.equal(await installations.countDocuments({ active: true }), 0);
  });
});
