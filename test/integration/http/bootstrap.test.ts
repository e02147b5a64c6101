/** The user of the settings (contract, section 6). */
import assert from "node:assert/strict";
import { it } from "node:test";

import { call, type HttpResponse } from "../../support/http.ts";
import { stage } from "../../support/scene.ts";
import { addUser, bootstrap, type TestService } from "../../support/service.ts";

const { scene } = stage();
const other = { user: "other", password: "a password of another administrator" };
const warning = "bootstrap user is reset at each start, unset BOOTSTRAP_RESET";

const signIn = (
  service: TestService,
  as: { user: string; password: string } = bootstrap,
): Promise<HttpResponse> => call(`${service.url}/api/topicsync/v1/users`, { method: "GET", as });

it("a bootstrap user that was disabled stays disabled, until BOOTSTRAP_RESET enables it", async () => {
  const { settings, start } = scene();
  await addUser(settings, other.user, other.password, "--role", "topicsync_admin");
  const first = await start();
  assert.equal((await signIn(first)).status, 200);
  const disable = `${first.url}/api/topicsync/v1/users/${bootstrap.user}/disable`;
  assert.equal((await call(disable, { as: other })).status, 200);
  await first.stop();

  const second = await start();
  assert.equal((await signIn(second)).status, 401);
  assert.ok(!second.log.some(({ msg }) => msg === warning));
  await second.stop();

  const third = await start({ BOOTSTRAP_RESET: "true" });
  assert.equal((await signIn(third)).status, 200);
  assert.ok(third.log.some(({ msg, level }) => msg === warning && level === 40));
});

it("a bootstrap user keeps the password and roles that it was given since", async () => {
  const { start } = scene();
  const first = await start();
  const path = `${first.url}/api/topicsync/v1/users/${bootstrap.user}`;
  const password = "a password that was set since";
  const roles = { remove: ["push_admin"] };
  assert.equal((await call(`${path}/roles`, { body: roles })).status, 200);
  assert.equal((await call(`${path}/password`, { body: { password } })).status, 200);
  await first.stop();

  const second = await start();
  assert.equal((await signIn(second)).status, 401);
  const { status, json } = await signIn(second, { ...bootstrap, password });
  assert.equal(status, 200);
  assert.ok(!json.users[0].roles.includes("push_admin"));
});
