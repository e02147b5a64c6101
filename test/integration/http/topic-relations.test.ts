import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TopicRelationsView } from "../../../schemas/topics/relations.ts";
import { assertError, call } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { service } from "../../support/shared-service.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const [path, space, other] = [unique("member"), unique("space"), unique("other")];

async function create(contentQuery: string, namespace = space): Promise<string> {
  const externalId = unique("topic");
  const body = { externalId, name: externalId, namespace, contentQuery };
  const { status, text } = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body });
  assert.equal(status, 201, text);
  return externalId;
}

const get = (id: string, key?: string) =>
  call(`${service.url}/api/topicsync/v1/topics/${id}/relations`, {
    method: "GET",
    ...(key !== undefined && { key }),
  });
const toIds = ({ topics }: TopicRelationsView["same"]): string[] => topics.map((one) => one.externalId);

describe("the relations of a topic", () => {
  it("are the topics that have the same events, or all of them and more", async () => {
    const one = await create(`${path}.a=1,2&${path}.b=x`);
    const same = await create(`${path}.b=x&${path}.a=2,1,1`);
    const wider = await create(`${path}.a=1,2,3`);
    const foreign = await create(`${path}.b=x,y`, other);
    await create(`${path}.a=1&${path}.b=x`);
    await create(`${path}.a=2`);
    // Other topics may have every event.
    const both = await createKey(service.url, `topics.read@${space}`, `topics.read@${other}`);
    const { json } = await get(one, both);
    assert.partialDeepStrictEqual(json, { externalId: one, impossible: [], complete: true });
    assert.deepEqual(toIds(json.same), [same]);
    assert.deepEqual(toIds(json.containing), [foreign, wider].toSorted());
    const key = await createKey(service.url, `topics.read@${space}`);
    assert.deepEqual(toIds((await get(one, key)).json.containing), [wider]);
    assertError(await get(foreign, key), 404, "NOT_FOUND");
  });

  it("name conditions that contradict each other, and filters that cannot be read", async () => {
    const externalId = unique("topic");
    const body = { externalId, name: externalId, headerQuery: "eventType.name=Alarm" };
    await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body });
    const { json } = await get(externalId);
    assert.deepEqual([json.impossible, json.same.total, json.complete], [["eventType.name=Alarm"], 0, true]);
    const broken = unique("broken");
    await service.db
      .collection<{ _id: string }>("svc_api_notif_mgmt_topic")
      .insertOne(createTopicRecord({ externalId: broken, headerQuery: "a=1;b=2" }));
    assertError(await get(broken), 400, "BAD_FILTER");
  });
});
