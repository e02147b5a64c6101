/** The OpenID provider of the console: its settings, its outages, and what is asked of it. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";

import { ConfigurationError } from "@topicsync/lib/errors";
import { readConfig } from "../../../src/config/config.ts";
import { roles } from "../../../src/users/user.ts";
import { useFolder } from "../../support/folder.ts";
import type { HttpResponse } from "../../support/http.ts";
import { audience, countMaxRequests, failureIntervalMs, startIssuer } from "../../support/issuer.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";
import { ownNames, startTopicsyncHere } from "../../support/service.ts";
import {
  assertFailed,
  beginSignIn,
  clientId,
  findSessionCookie,
  get,
  getLastCredentials,
  path,
  publicUrl,
  returnFromProvider,
} from "../../support/sign-in.ts";

const issuer = await startIssuer();
const secrets = ["the first secret of the client", "the second secret of the client"] as const;
keepSecret(...secrets);
const folder = useFolder();
/** A public client. */
const here = useService({
  HTTP_PUBLIC_URL: publicUrl,
  OIDC_ISSUER: issuer.url,
  OIDC_AUDIENCE: audience,
  OIDC_CLIENT_ID: clientId,
});

describe("the provider", () => {
  it("may be unavailable: the console shows it, and signing in works once it is available again", async () => {
    const away = await startIssuer();
    const other = await startTopicsyncHere({ ...here.settings, ...ownNames(), OIDC_ISSUER: away.url });
    await other.ready();
    const ask = () => get(`${other.url}${path}/openid`);
    for (const behaviour of ["failing", "garbled"] as const) {
      away.setBehaviour(behaviour);
      const changedAt = performance.now();
      await until("it is asked", async () => {
        for (let times = 0; times < 20; times += 1) assertFailed(await ask(), "unavailable");
        return away.countRequests() > 0;
      });
      const max = countMaxRequests(changedAt, failureIntervalMs);
      assert.ok(away.countRequests() <= max, "the provider is not asked for each sign-in");
    }
    away.setBehaviour("well");
    const isRedirected = async () =>
      (await ask()).headers.get("location")?.startsWith(`${away.url}/authorize`);
    await until("signing in works again", isRedirected);
    await other.stop();
  });

  it("is asked for UserInfo if the ID token has no roles, which must have the same subject", async () => {
    const userInfo = { sub: "ann", roles: [roles.eventManagement] };
    const withUserInfo = await startIssuer(userInfo);
    const other = await startTopicsyncHere({
      ...here.settings,
      ...ownNames(),
      OIDC_ISSUER: withUserInfo.url,
    });
    await other.ready();
    const signInAs = async (sub: string): Promise<HttpResponse> =>
      returnFromProvider(other, withUserInfo, await beginSignIn(other), { claims: { sub } });
    const [cookie = ""] = findSessionCookie(await signInAs("ann")).split(";", 1);
    const { json } = await get(`${other.url}${path}`, cookie);
    keepSecret(cookie.split("=")[1], json.csrfToken);
    assert.deepEqual([json.user, json.roles], ["oidc:ann", [roles.eventManagement]]);
    assertFailed(await signInAs("eve"), "rejected");
    await other.stop();
  });

  it("can be replaced in the settings, which invalidates sign-ins begun with the old one", async () => {
    const response = await returnFromProvider(here, issuer, await beginSignIn(here), {
      claims: { roles: [roles.eventManagement] },
    });
    const [cookie = ""] = findSessionCookie(response).split(";", 1);
    assert.equal((await get(`${here.url}${path}`, cookie)).status, 200);
    const { modifiedCount } = await here.db
      .collection("topicsync_sessions")
      .updateMany({ issuer: issuer.url }, { $set: { issuer: "https://former.example.org" } });
    assert.ok(modifiedCount > 0);
    assert.equal((await get(`${here.url}${path}`, cookie)).status, 401);
  });

  it("gets the client secret that is in its file at the moment", async () => {
    const file = folder.createFile("client-secret", `${secrets[0]}\n`);
    const { log, ...other } = await startTopicsyncHere({
      ...here.settings,
      ...ownNames(),
      OIDC_CLIENT_SECRET_FILE: file,
    });
    await other.ready();
    const signIn = async (): Promise<string | null | undefined> => {
      const response = await returnFromProvider(other, issuer, await beginSignIn(other));
      assert.equal(response.headers.get("location"), "/console");
      return getLastCredentials(issuer)[1];
    };
    assert.equal(await signIn(), secrets[0]);
    writeFileSync(file, secrets[1]);
    assert.equal(await signIn(), secrets[1]);
    writeFileSync(file, "");
    assert.equal(await signIn(), secrets[1], "an empty file is not used");
    assert.ok(log.some(({ msg }) => msg === "changed file is invalid, keeping the old content"));
    await other.stop();
  });

  it("is listed as a sign-in method with its URL", async () => {
    const methods = await get(`${here.url}${path}/sign-in-methods`);
    const { host } = new URL(issuer.url);
    assert.deepEqual(methods.json, { openId: { provider: host, url: `${publicUrl}${path}/openid` } });
  });

  it("needs complete settings, and HTTPS unless it is local", () => {
    const good = {
      OIDC_ISSUER: "https://id.example.org",
      OIDC_AUDIENCE: audience,
      OIDC_CLIENT_ID: clientId,
      HTTP_PUBLIC_URL: `${publicUrl}/`,
    };
    assert.deepEqual(readConfig(good).signIn, {
      issuer: good.OIDC_ISSUER,
      audience,
      rolesClaim: "roles",
      userClaim: "sub",
      roleMap: new Map(),
      tokenType: undefined,
      clientId,
      clientSecret: undefined,
      scope: "openid",
      publicUrl,
    });
    for (const [wrong, name] of [
      [{ ...good, HTTP_PUBLIC_URL: "" }, "HTTP_PUBLIC_URL"],
      [{ ...good, HTTP_PUBLIC_URL: "http://topicsync.example.org" }, "HTTP_PUBLIC_URL"],
      [{ ...good, HTTP_PUBLIC_URL: `${publicUrl}/a//b` }, "HTTP_PUBLIC_URL"],
      [{ ...good, OIDC_ISSUER: "", OIDC_AUDIENCE: "" }, "OIDC_ISSUER"],
      [{ ...good, OIDC_CLIENT_ID: "", OIDC_CLIENT_SECRET: "a secret" }, "OIDC_CLIENT_ID"],
      [{ ...good, OIDC_SCOPE: "profile" }, "OIDC_SCOPE"],
    ] as const) {
      assert.throws(
        () => readConfig(wrong),
        (error) => error instanceof ConfigurationError && error.message.includes(name),
      );
    }
  });
});
