import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createVerifyToken } from "../../../src/users/bearer-token.ts";
import { InvalidTokenError, type TokenClaims } from "../../../src/users/openid.ts";
import { explainToken } from "../../../src/users/token-explanation.ts";
import { listTokenFindings, recognizeProvider } from "../../../src/users/token-findings.ts";
import { roles } from "../../../src/users/user.ts";
import { audience, startIssuer } from "../../support/issuer.ts";

const issuer = await startIssuer();
const config = {
  issuer: issuer.url,
  audience,
  rolesClaim: "roles",
  userClaim: "sub",
  roleMap: new Map([["ops", ["topics.read"]]]),
  tokenType: undefined,
};
const now = Math.floor(Date.now() / 1_000);
const good = { iss: issuer.url, aud: audience, sub: "ann", exp: now + 300, roles: ["ops"] };

const list = (claims: TokenClaims, settings: Partial<typeof config> = {}) =>
  listTokenFindings({ header: { typ: "JWT" }, claims }, { ...config, ...settings }, Date.now());
const listKinds = (claims: TokenClaims): string[] => list(claims).map(({ kind }) => kind);
const describeAll = (...given: Parameters<typeof list>): string =>
  list(...given)
    .map(({ message, advice }) => `${message} | ${advice}`)
    .join("\n");

describe("the findings on a token", () => {
  it("are none for a good one, and all of them for one with several faults", () => {
    assert.deepEqual(list(good), []);
    assert.deepEqual(listKinds({}), ["iss", "aud", "exp", "user", "roles"]);
    assert.deepEqual(listKinds({ ...good, iss: 1, aud: ["x"], exp: now - 40, nbf: now + 60, sub: 7 }), [
      ...["iss", "aud", "exp", "nbf", "user"],
    ]);
  });

  it("cut what a token contains", () => {
    for (const { message } of list({ ...good, iss: "x".repeat(10_000), aud: ["y".repeat(10_000)] }))
      assert.ok(message.length < 600, message);
  });

  it("agree with the library that decides, about claims of any form", async () => {
    const verify = createVerifyToken(config);
    for (const claims of [
      {},
      ...[{ iss: undefined }, { iss: "other" }, { iss: [issuer.url] }, { iss: `${issuer.url}/` }],
      ...[{ aud: undefined }, { aud: [] }, { aud: ["a", audience] }, { aud: [[audience]] }, { aud: {} }],
      ...[{ exp: undefined }, { exp: "soon" }, { exp: now - 20 }, { exp: now - 60 }, { exp: 1e300 }],
      ...[
        { nbf: null },
        { nbf: now + 20 },
        { nbf: now + 60 },
        { nbf: 1e300 },
        { iat: "now" },
        { iat: 1e300 },
      ],
      ...[{ sub: undefined }, { sub: "" }, { sub: 1 }, { roles: undefined }, { roles: {} }],
    ] as TokenClaims[]) {
      const token = await issuer.token({ roles: ["ops"], ...claims });
      const { findings, signature, accepted } = await explainToken(token, config);
      const isAccepted = await Promise.resolve(verify(token, () => Promise.resolve())).then(
        () => true,
        (error: unknown) => {
          assert.ok(error instanceof InvalidTokenError);
          return false;
        },
      );
      const what = JSON.stringify(claims);
      assert.deepEqual([signature, accepted], ["valid", isAccepted], what);
      assert.equal(!findings.some(({ rejects }) => rejects), isAccepted, what);
    }
  });

  it("compare the type as the library does", async () => {
    const strict = { ...config, tokenType: "at+jwt" };
    for (const [typ, accepted] of [
      ["at+jwt", true],
      ["application/AT+JWT", true],
      ["JWT", false],
      [undefined, false],
    ] as const) {
      const token = await issuer.token({ roles: ["ops"] }, typ === undefined ? {} : { typ });
      const explained = await explainToken(token, strict);
      assert.equal(explained.accepted, accepted, typ);
      assert.equal(explained.findings.length, accepted ? 0 : 1, typ);
    }
  });
});

describe("access tokens of Amazon Cognito", () => {
  const iss = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_a1";
  const claims = {
    ...{ iss, sub: "8f", username: "ann", token_use: "access", client_id: "1example" },
    ...{ "cognito:groups": ["ops"], scope: "openid", exp: now + 300 },
  };

  it("have no aud: the ID token has the client", () => {
    assert.equal(recognizeProvider(claims), "Amazon Cognito");
    const found = describeAll(claims, { issuer: iss });
    assert.match(found, /"1example" in client_id alone .*send the ID token, with OIDC_AUDIENCE="1example"/);
    assert.match(found, /no claim "roles" .*OIDC_ROLES_CLAIM, for example to cognito:groups/);
    assert.equal(list({ ...claims, aud: audience }, { issuer: iss, rolesClaim: "cognito:groups" }).length, 0);
  });
});

describe("access tokens of AD FS", () => {
  const claims = {
    ...{ aud: "microsoft:identityserver:topicsync", iss: "http://sts.example.org/adfs/services/trust" },
    ...{ apptype: "Confidential", appid: "topicsync", authmethod: "…", ver: "1.0", scp: "openid" },
    ...{ upn: "ann@example.org", unique_name: "EX\\ann", exp: now + 300 },
  };
  const settings = { issuer: "https://sts.example.org/adfs", rolesClaim: "group" };

  it("have another issuer and no sub", () => {
    assert.equal(recognizeProvider(claims), "AD FS");
    const found = describeAll(claims, settings);
    assert.match(found, /iss is "http:.*its access_token_issuer, .*: send the ID token/);
    assert.match(found, /sub is missing .*OIDC_USER_CLAIM, for example to upn or unique_name/);
    assert.match(describeAll({ ...claims, aud: "urn:microsoft:userinfo" }, settings), /asked AD FS for no/);
  });

  it("have groups by name, or SIDs", () => {
    const names = describeAll({ ...claims, group: ["EX\\Operators", "ops2"] }, settings);
    assert.match(names, /nothing that OIDC_ROLE_MAP names: \["EX.*Operators","ops2"\] \| Name one in/);
    const roleMap = new Map([["EX\\Domain Users", ["topics.read"]]]);
    assert.doesNotMatch(
      describeAll({ ...claims, group: "EX\\Domain Users" }, { ...settings, roleMap }),
      /group/,
    );
    assert.match(describeAll({ ...claims, group: "S-1-5-21-1-2-3-4" }, settings), /They are SIDs/);
    assert.match(
      describeAll({ ...claims, group: "EX\\Operators" }),
      /OIDC_ROLES_CLAIM, for example to group\./,
    );
  });
});

describe("tokens of Microsoft Entra", () => {
  const issuerUrl = "https://login.microsoftonline.com/a1/v2.0";
  const claims = { iss: issuerUrl, aud: audience, sub: "x", oid: "y", ver: "2.0", exp: now + 300 };
  const settings = { issuer: issuerUrl, rolesClaim: "groups" };

  it("of users in too many groups only refer to them", () => {
    assert.equal(recognizeProvider(claims), "Microsoft Entra");
    const overage = { ...claims, _claim_names: { groups: "src1" }, _claim_sources: { src1: {} } };
    assert.match(
      describeAll(overage, settings),
      /but _claim_names: .*too many groups \| .*, or app roles\.$/,
    );
    for (const hasgroups of [true, "true"])
      assert.match(describeAll({ ...claims, hasgroups }, settings), /but hasgroups: .*too many groups/);
    assert.match(describeAll({ ...overage, roles: ["ops"] }, settings), /to roles\.$/);
    assert.deepEqual(list({ ...overage, roles: ["ops"] }, { issuer: issuerUrl }), [], "roles suffice");
  });

  it("name groups by ids", () => {
    const groups = ["0760b6cf-170e-4a14-91b3-4b78e0739963"];
    assert.match(describeAll({ ...claims, groups }, settings), /They are ids of groups: .*app roles/);
  });

  it("of version 1 have another issuer", () => {
    const old = { ...claims, iss: "https://sts.windows.net/a1/", ver: "1.0", groups: [roles.admin] };
    assert.match(describeAll(old, settings), /Set requestedAccessTokenVersion to 2/);
  });
});
