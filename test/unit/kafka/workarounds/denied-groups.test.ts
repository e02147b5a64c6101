import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { it } from "node:test";

import { keepGroupDenials, restoreDenial } from "../../../../src/kafka/workarounds/denied-groups.ts";

const denial = Object.assign(new Error("denied"), { type: "GROUP_AUTHORIZATION_FAILED" });
const outage = new Error("no broker tells the group's coordinator");

it("takes no denial for the cause of an outage once the group was found", async () => {
  const broker = createRequire(import.meta.url)("kafkajs/src/broker/index.js") as {
    prototype: { findGroupCoordinator(request: { groupId: string }): Promise<object> };
  };
  let isDenied = true;
  broker.prototype.findGroupCoordinator = () => (isDenied ? Promise.reject(denial) : Promise.resolve({}));
  keepGroupDenials();
  const find = () => broker.prototype.findGroupCoordinator({ groupId: "group" });

  await assert.rejects(find(), denial);
  assert.equal(restoreDenial("group", outage), denial);
  await assert.rejects(find(), denial);
  isDenied = false;
  await find();
  assert.equal(restoreDenial("group", outage), outage);
});
