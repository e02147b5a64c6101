import assert from "node:assert/strict";
import { it } from "node:test";

import { call } from "../../support/http.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { ownNames, startTopicsyncHere } from "../../support/service.ts";
import { databaseUri, sharedStack } from "../../support/stack.ts";

const stack = sharedStack();

it("an unexpected failure returns 500 with the operation and the request id, but not the cause", async () => {
  const store = await startMongoProxy(Number(new URL(stack.mongodb).port));
  const proxied = `mongodb://127.0.0.1:${store.port}/?directConnection=true`;
  const uri = databaseUri(proxied, unique("test"));
  const service = await startTopicsyncHere({
    ...ownNames(),
    HTTP_TRUSTED_PROXIES: "127.0.0.1",
    MONGODB_URI: uri,
    KAFKA_BROKERS: stack.kafka,
  });
  await service.ready();
  store.fail({
    command: "insert",
    collection: "svc_api_notif_mgmt_topic",
    executed: false,
    answer: { ok: 0, code: 2, codeName: "BadValue", errmsg: "internals of the store" },
    times: 1,
  });
  const body = { name: "Topic", externalId: unique("topic") };
  const requestId = unique("request");
  const { status, json, text } = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, {
    body,
    headers: { "X-Request-Id": requestId },
  });
  assert.equal(status, 500);
  assert.deepEqual([json.error.code, json.error.message], ["INTERNAL", "createTopic failed unexpectedly."]);
  assert.ok(json.error.detail.includes(requestId), json.error.detail);
  assert.doesNotMatch(text, /internals|BadValue|\bat \w+ \(/);
  const line = await until("the failure is logged", () =>
    service.log.find(({ msg }) => msg === "request failed unexpectedly"),
  );
  assert.deepEqual([line["requestId"], line["operation"]], [requestId, "createTopic"]);
  await service.stop();
});
