import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Overview } from "../../../schemas/overview.ts";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import type { OperationServices } from "../../../src/operations/framework/services.ts";
import { statusOperations } from "../../../src/operations/status.ts";
import { createTopicReader } from "../../../src/storage/topics/reader.ts";
import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { connectDatabase } from "../../support/database.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { db, database } = await connectDatabase();
const topics = db.collection<TopicRecord>("svc_api_notif_mgmt_topic");

/** A status with the busiest topics only; nothing else of it depends on them. */
const status = {
  partitions: [],
  pushFeedback: null,
  router: { busiest: ["of-sales", "gone", "of-nobody", "of-assurance"].map(toBusy), partitions: [] },
  problems: ["MongoDB at 192.0.2.1"],
} as unknown as SyncStatus;
function toBusy(externalId: string, at: number) {
  return { externalId, events: 10 - at };
}

const services = {
  getSyncStatus: () => Promise.resolve(status),
  getOverview: () => Promise.resolve({ sync: status, checks: {}, problems: [] } as unknown as Overview),
  topicReader: createTopicReader(database),
} as unknown as OperationServices;

async function getBusiest(id: string, ...roles: string[]): Promise<string[]> {
  const operation = statusOperations.find((one) => one.id === id);
  assert.ok(operation !== undefined);
  const call = { user: { name: "ann", roles, active: true } } as unknown as Parameters<
    typeof operation.handle
  >[0];
  const { json } = await operation.handle(call, services);
  const { router } = id === "getOverview" ? (json as Overview).sync : (json as SyncStatus);
  return (router?.busiest ?? []).map(({ externalId }) => externalId);
}

describe("the busiest topics", () => {
  it("are those that the caller may read", async () => {
    await topics.insertMany([
      { ...createTopicRecord({ externalId: "of-sales" }), namespace: "sales" },
      { ...createTopicRecord({ externalId: "of-assurance" }), namespace: "assurance.mobile" },
      { ...createTopicRecord({ externalId: "of-nobody" }), namespace: "" },
    ]);
    for (const id of ["getSyncStatus", "getOverview"]) {
      const all = ["of-sales", "gone", "of-nobody", "of-assurance"];
      assert.deepEqual(await getBusiest(id, "topics.read"), all);
      assert.deepEqual(await getBusiest(id, "topics.read@sales"), ["of-sales"]);
      assert.deepEqual(await getBusiest(id, "topics.read@assurance.*", "topics.read@"), [
        "of-nobody",
        "of-assurance",
      ]);
      assert.deepEqual(await getBusiest(id, "topics.read@elsewhere"), []);
      assert.deepEqual(await getBusiest(id, "topics.write", "status.read", "admin"), []);
      assert.deepEqual(await getBusiest(id), []);
    }
  });
});
