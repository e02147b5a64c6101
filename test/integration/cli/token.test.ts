import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { roles } from "../../../src/users/user.ts";
import { useFolder } from "../../support/folder.ts";
import { audience, startIssuer } from "../../support/issuer.ts";
import { keepSecret } from "../../support/secrets.ts";
import { runCli } from "../../support/service.ts";

const folder = useFolder();
const issuer = await startIssuer();
const settings = { OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: audience };

/** Explains a token on standard input. Fails if the output contains it. */
async function explain(token: string, environment: Record<string, string> = settings, ...more: string[]) {
  const end = await runCli(["token", "explain", ...more], environment, `${token}\n`);
  const [, payload = "", signature = ""] = token.split(".");
  for (const secret of [token, payload, signature].filter((one) => one.length > 20)) {
    keepSecret(secret);
    assert.ok(!`${end.output}${end.errors}`.includes(secret), "the token is shown");
  }
  return end;
}

describe("token explain", () => {
  it("shows the claims of a token that is accepted, and its user", async () => {
    const token = await issuer.token({ roles: [roles.admin] });
    for (const given of [
      token,
      `Bearer ${token}`,
      `Authorization: Bearer ${token.slice(0, 50)}\n ${token.slice(50)}`,
    ]) {
      const { code, output, errors } = await explain(given);
      assert.deepEqual([code, errors], [0, ""], output);
      assert.match(output, /^\(alg\) +"RS256"$/m);
      assert.match(output, /^sub +"ann"$/m);
      assert.match(output, /^exp +\d+ \(20\d\d-.*Z\)$/m);
      assert.match(
        output,
        /\nThe signature is valid\.\nThe service accepts it: oidc:ann has topicsync_admin\.\n$/,
      );
    }
  });

  it("lists everything that is wrong, with what to set, and exits with 3", async () => {
    const { code, output } = await explain(await issuer.token({ aud: "other", sub: undefined, upn: "ann" }));
    assert.equal(code, 3);
    assert.match(output, /^- The claim aud is "other", but OIDC_AUDIENCE is "topicsync"\. /m);
    assert.match(output, /^- The claim sub is missing\. Set OIDC_USER_CLAIM, for example to upn\.$/m);
    assert.match(output, /^- The token has no claim "roles" \(OIDC_ROLES_CLAIM\)\.$/m);
    assert.match(output, /\nThe service rejects it\.\n$/);
  });

  it("says that the signature is not valid", async () => {
    const [head = "", payload = ""] = (await issuer.token()).split(".");
    const { code, output } = await explain(`${head}.${payload}.${"A".repeat(342)}`);
    assert.equal(code, 3);
    assert.match(output, /\nThe signature is invalid: signature verification failed\.\n- The signature is/);
  });

  it("works without the provider, says so, and exits with 69 if nothing else is wrong", async () => {
    const away = await startIssuer();
    away.setBehaviour("failing");
    const token = await away.token({ roles: [roles.admin] });
    const { code, output } = await explain(token, { ...settings, OIDC_ISSUER: away.url });
    assert.equal(code, 69);
    assert.match(output, /\nThe signature is unchecked: http:\S+ responded with 500\.\n/);
    assert.match(output, /\nThe service accepts it if the signature is valid\.\n$/);
    const wrong = await explain(await away.token({ aud: "other" }), { ...settings, OIDC_ISSUER: away.url });
    assert.equal(wrong.code, 3);
  });

  it("works without settings: it shows those that the token needs", async () => {
    const { code, output } = await explain(await issuer.token({ roles: [] }), {});
    assert.equal(code, 3);
    assert.match(output, /\nThe signature is unchecked: OIDC_ISSUER is not set\.\n/);
    assert.match(output, new RegExp(`OIDC_ISSUER="${issuer.url}" and OIDC_AUDIENCE="topicsync"`));
  });

  it("prints JSON", async () => {
    const { code, output } = await explain(await issuer.token({ roles: ["x"] }), settings, "--json");
    assert.equal(code, 0);
    const { claims, findings, ...rest } = JSON.parse(output) as Record<string, unknown>;
    assert.deepEqual(Object.keys(claims as object).toSorted(), ["aud", "exp", "iat", "iss", "roles", "sub"]);
    assert.deepEqual(
      (findings as Record<string, unknown>[]).map(({ kind, rejects }) => [kind, rejects]),
      [["roles", false]],
    );
    assert.deepEqual(rest, {
      provider: null,
      header: { alg: "RS256", kid: "key-1" },
      signature: "valid",
      reason: "",
      accepted: true,
      user: { name: "oidc:ann", roles: [] },
    });
  });

  it("escapes what would control the terminal", async () => {
    const { output } = await explain(
      await issuer.token({ "\u001B[2J": "\u001B]0;x\u0007", sub: "a\u202Eb" }),
    );
    assert.doesNotMatch(output, /[^\P{C}\n]/u);
  });

  it("reads a file, but no token as an argument, and does not repeat one", async () => {
    const token = await issuer.token({ roles: [roles.admin] });
    assert.equal((await explain("", settings, folder.createFile("token", token))).code, 0);
    for (const argument of [token, "an-opaque-token-of-40-characters-or-more", "x".repeat(300)]) {
      const { code, output, errors } = await runCli(["token", "explain", argument], settings);
      assert.equal(code, 1);
      assert.match(errors, /give it on standard input/);
      assert.ok(!`${output}${errors}`.includes(argument), "the token is shown");
    }
  });

  it("says what is not a signed JWT", async () => {
    for (const [text, advice] of [
      ["", /There is nothing to read\.$/m],
      [`tsk_${"a".repeat(43)}`, /It is an API key of topicsync/],
      ["ya29.a0AfH6SMBx", /Some providers send opaque tokens/],
      ["a.b.c.d.e", /It is encrypted/],
      ["eyJhbGciOiJSUzI1NiJ9.eyJpc3Mi.c2ln", /It may be cut off/],
    ] as const) {
      const { code, errors } = await explain(text);
      assert.equal(code, 3);
      assert.match(errors, /^It is not a signed JWT: /);
      assert.match(errors, advice);
    }
  });
});
