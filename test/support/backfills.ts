import assert from "node:assert/strict";

import { newId } from "@topicsync/lib/sys-id";
import type { BackfillView } from "../../schemas/backfill.ts";
import type { Backfill } from "../../src/routing/backfill.ts";
import { toBackfillRecord } from "../../src/storage/backfills.ts";
import { call, type HttpResponse } from "./http.ts";
import { until } from "./poll.ts";
import type { RouterScene } from "./router-scene.ts";
import type { TestService } from "./service.ts";

type At = Pick<TestService, "url">;

const v1 = "/api/topicsync/v1";

/** Requests a backfill. */
export const postBackfill = (
  { url }: At,
  externalId: string,
  body: object = { from: "2000-01-01T00:00:00Z" },
): Promise<HttpResponse> => call(`${url}${v1}/topics/${encodeURIComponent(externalId)}/backfills`, { body });

export const getBackfill = async ({ url }: At, id: string): Promise<BackfillView> =>
  (await call(`${url}${v1}/backfills/${id}`, { method: "GET" })).json as BackfillView;

/** Requests a backfill, and waits for its end. */
export async function backfill(...request: Parameters<typeof postBackfill>): Promise<BackfillView> {
  const { status, text, json } = await postBackfill(...request);
  assert.equal(status, 202, text);
  return ended(request[0], (json as BackfillView).id);
}

/** Waits for the end of a backfill. */
export async function ended(service: At, id: string): Promise<BackfillView> {
  let found: BackfillView | undefined;
  await until("the backfill has ended", async () => {
    found = await getBackfill(service, id);
    return found.state !== "waiting" && found.state !== "running";
  });
  assert.ok(found !== undefined);
  return found;
}

/** Lets a topic seem to have its version for an hour, so that backfills of it begin at once. */
export async function settle({ db }: Pick<RouterScene, "db">, externalId: string): Promise<void> {
  await db
    .collection("svc_api_notif_mgmt_topic")
    .updateOne({ topic_id: externalId }, { $set: { sys_updated_on: new Date(Date.now() - 3_600_000) } });
}

/** A backfill that has not ended. */
export const createStoredBackfill = (externalId: string, namespace: string, id = newId()): Backfill => ({
  id,
  topic: { id: newId(), externalId, namespace, version: 1, headerQuery: "", contentQuery: "" },
  ...{ egressTopic: `to.${externalId}`, from: new Date(0), to: null, rate: 1, requestedBy: "ann" },
  ...{ requestedOn: new Date(), startsOn: new Date(), endedOn: null },
  ...{ state: "running", reason: null, ranges: null },
});

/** Its record. Nobody runs it where there is no router. */
export const createBackfillRecord = (...backfill: Parameters<typeof createStoredBackfill>) =>
  toBackfillRecord(createStoredBackfill(...backfill));
