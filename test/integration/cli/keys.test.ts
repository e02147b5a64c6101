import assert from "node:assert/strict";
import { it } from "node:test";

import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";
import { runCli } from "../../support/service.ts";

const service = useService();
const whoAmI = (key: string) => call(`${service.url}/api/topicsync/v1/session`, { method: "GET", key });

it("`keys` creates a key with the operator's full rights, lists it, and deletes it", async () => {
  const name = unique("sender");
  const created = await runCli(
    ["keys", "create", name, "--role", "topics.read@sales.*", "admin", "--expires-in", "1h"],
    service.settings,
  );
  assert.equal(created.code, 0, created.errors);
  const key = created.output.trim();
  keepSecret(key);
  assert.match(key, /^tsk_[\w-]{43}$/);
  assert.match(
    created.errors,
    new RegExp(`created the key ${name} .* with topics.read@sales.*, admin, valid until`),
  );
  assert.ok(!created.errors.includes(key));
  const { json } = await whoAmI(key);
  assert.deepEqual([json.user, json.roles], [`key:${name}`, ["topics.read@sales.*", "admin"]]);

  const list = await runCli(["keys", "list"], service.settings);
  assert.ok(list.output.includes(name));
  assert.ok(!list.output.includes(key));
  const { output } = await runCli(["keys", "list", "--json"], service.settings);
  const [{ id, createdBy }] = JSON.parse(output).keys.filter((one: { name: string }) => one.name === name);
  assert.match(createdBy, /^cli:/);

  const deleted = await runCli(["keys", "delete", id], service.settings);
  assert.equal(deleted.output, `deleted the key ${id}\n`);
  assert.notEqual((await runCli(["keys", "delete", id], service.settings)).code, 0);
  await until("the key is rejected", async () => (await whoAmI(key)).status === 401);
});

it("`keys create` rejects bad names, rights and durations", async () => {
  for (const args of [
    ["a/b"],
    [unique("sender"), "--role", "topics.delete"],
    [unique("sender"), "--role", "admin@sales"],
    [unique("sender"), "--expires-in", "soon"],
  ]) {
    const { code, errors } = await runCli(["keys", "create", ...args], service.settings);
    assert.equal(code, 64, errors);
  }
  const { code, errors } = await runCli(
    ["keys", "create", unique("s"), "--expires-in", "0s"],
    service.settings,
  );
  assert.equal(code, 3, errors);
});
