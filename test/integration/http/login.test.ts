import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { bootstrap } from "../../support/service.ts";
import { service } from "../../support/shared-service.ts";

const logIn = (user: string, password: string, from = "192.0.2.1"): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/sync`, {
    method: "GET",
    as: { user, password },
    headers: { "X-Forwarded-For": from },
  });

const addUser = (name: string): Promise<void> => service.addUser(name, `password of ${name}`);

describe("failed logins", () => {
  it("lead to 429 with Retry-After for existing and unknown users, but not for a user who is logged in", async () => {
    const [ann, nobody] = [unique("ann"), unique("nobody")] as const;
    await addUser(ann);
    assert.equal((await logIn(ann, `password of ${ann}`)).status, 200);
    for (const user of [ann, nobody]) {
      for (let failure = 1; failure <= 10; failure += 1)
        assert.equal((await logIn(user, `wrong ${failure}`)).status, 401);
      const response = await logIn(user, "wrong again");
      assertError(response, 429, "TOO_MANY_ATTEMPTS");
      assert.match(response.headers.get("retry-after") ?? "", /^[1-9]\d{0,2}$/);
    }
    assert.equal((await logIn(ann, `password of ${ann}`)).status, 200);
    assert.equal((await logIn(bootstrap.user, bootstrap.password)).status, 200);
    const warnings = service.log.filter(
      ({ msg, user }) =>
        msg?.startsWith("too many failed logins") === true && [ann, nobody].includes(String(user)),
    );
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

  it("are logged with the user and the address", async () => {
    const [user, from] = [unique("user"), "203.0.113.77"];
    assert.equal((await logIn(user, "wrong password", from)).status, 401);
    const line = await until("it is logged", () =>
      service.log.find(({ address, status }) => address === from && status === 401),
    );
    assert.deepEqual([line["user"], line["code"]], [user, "UNAUTHENTICATED"]);
  });

  it("in a flood get 401, 429 or 503 with Retry-After, while valid requests succeed", async () => {
    const flood = { ended: false };
    const flooding = Promise.all(
      Array.from({ length: 50 }, (_, index) => logIn(unique("flood"), `wrong ${index}`)),
    ).finally(() => (flood.ended = true));
    let added = 0;
    while (!flood.ended) {
      assert.equal((await logIn(bootstrap.user, bootstrap.password)).status, 200);
      // Administrators' hashes do not wait behind those of strangers.
      const body = { name: unique("added"), password: "a password of a new user" };
      const { status } = await call(`${service.url}/api/topicsync/v1/users`, { body });
      assert.equal(status, 201);
      added += 1;
    }
    assert.ok(added > 0);
    const responses = await flooding;
    assert.deepEqual([...new Set(responses.map(({ status }) => status))].toSorted(), [401, 503]);
    for (const response of responses) {
      if (response.status !== 503) continue;
      assertError(response, 503, "OVERLOADED");
      assert.match(response.headers.get("retry-after") ?? "", /^\d+$/);
    }
  });
});

describe("guessed API keys", () => {
  it("lead to 429 beyond a hundred, but not for a key in use", async () => {
    const from = { "X-Forwarded-For": "192.0.2.99" };
    const whoAmI = (key: string): Promise<HttpResponse> =>
      call(`${service.url}/api/topicsync/v1/session`, { method: "GET", key, headers: from });
    const own = await createKey(service.url, "topics.read");
    assert.equal((await whoAmI(own)).status, 200);
    await until("further ones are rejected unchecked", async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => whoAmI(`tsk_${unique("guess")}`)));
      return responses.some(({ status }) => status === 429);
    });
    assert.equal((await whoAmI(own)).status, 200);
  });
});
