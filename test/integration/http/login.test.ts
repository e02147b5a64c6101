import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { call, type HttpResponse } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { bootstrap, ownNames, runCli, startTopicsync, type TestService } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const stack = sharedStack();
const { uri } = testDatabase(stack.mongodb);
const settings = {
  ...ownNames(),
  MONGODB_URI: uri,
  KAFKA_BROKERS: stack.kafka,
  // Lets a test send requests from several networks.
  HTTP_TRUSTED_PROXIES: "127.0.0.1",
};
let service: TestService;

before(async () => {
  service = await startTopicsync(settings);
  await service.ready();
});

const logIn = (user: string, password: string, from = "192.0.2.1"): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/sync`, {
    method: "GET",
    as: { user, password },
    headers: { "X-Forwarded-For": from },
  });

async function addUser(name: string): Promise<void> {
  assert.equal((await runCli(["users", "add", name], settings, `password of ${name}`)).code, 0);
}

describe("failed logins", () => {
  it("lead to 429 with Retry-After for existing and unknown users, but not for a user who is logged in", async () => {
    const [ann, nobody] = [unique("ann"), unique("nobody")] as const;
    await addUser(ann);
    assert.equal((await logIn(ann, `password of ${ann}`)).status, 200);
    for (const user of [ann, nobody]) {
      for (let failure = 1; failure <= 10; failure += 1)
        assert.equal((await logIn(user, `wrong ${failure}`)).status, 401);
      const response = await logIn(user, "wrong again");
      assert.equal(response.status, 429);
      assert.equal(response.json.error.code, "TOO_MANY_ATTEMPTS");
      assert.match(response.headers.get("retry-after") ?? "", /^[1-9]\d{0,2}$/);
    }
    assert.equal((await logIn(ann, `password of ${ann}`)).status, 200);
    assert.equal((await logIn(bootstrap.user, bootstrap.password)).status, 200);
    const warnings = service.log.filter(({ msg }) => msg?.startsWith("too many failed logins") === true);
    assert.deepEqual(
      warnings.map(({ limit, user }) => [limit, user]),
      [
        ["userAtAddress", ann],
        ["userAtAddress", nobody],
      ],
    );
  });

  it("from another network lead to 429 even for the right password of a user who is logged in", async () => {
    const [user, elsewhere] = [unique("user"), "198.51.100.7"];
    const password = `password of ${user}`;
    await addUser(user);
    assert.equal((await logIn(user, password)).status, 200);
    for (let failure = 1; failure <= 10; failure += 1)
      assert.equal((await logIn(user, `wrong ${failure}`, elsewhere)).status, 401);
    assert.equal((await logIn(user, "wrong again", elsewhere)).status, 429);
    assert.equal((await logIn(user, password, elsewhere)).status, 429);
    assert.equal((await logIn(user, password)).status, 200);
  });

  it("on the console are counted together with other requests", async () => {
    const [user, from] = [unique("user"), "203.0.113.5"];
    await addUser(user);
    const signIn = (password: string): Promise<HttpResponse> =>
      call(`${service.url}/api/topicsync/v1/session`, {
        as: undefined,
        headers: { "X-Forwarded-For": from },
        body: { user, password },
      });
    for (let failure = 1; failure <= 5; failure += 1) {
      assert.equal((await signIn(`wrong ${failure}`)).status, 401);
      assert.equal((await logIn(user, `wrong too ${failure}`, from)).status, 401);
    }
    assert.equal((await signIn(`password of ${user}`)).status, 429);
    assert.equal((await logIn(user, `password of ${user}`, from)).status, 429);
  });

  it("in a flood get 401, 429 or 503 with Retry-After, while valid requests succeed", async () => {
    const flood = { ended: false };
    const flooding = Promise.all(
      Array.from({ length: 50 }, (_, index) => logIn(unique("flood"), `wrong ${index}`)),
    ).finally(() => (flood.ended = true));
    while (!flood.ended) assert.equal((await logIn(bootstrap.user, bootstrap.password)).status, 200);
    const responses = await flooding;
    assert.deepEqual([...new Set(responses.map(({ status }) => status))].toSorted(), [401, 503]);
    for (const { status, json, headers } of responses) {
      if (status !== 503) continue;
      assert.equal(json.error.code, "OVERLOADED");
      assert.match(headers.get("retry-after") ?? "", /^\d+$/);
    }
  });
});
