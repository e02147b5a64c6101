/** `OIDC_ROLE_MAP`: the rights of a provider's groups. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ConfigurationError } from "@topicsync/lib/errors";
import { readConfig } from "../../../src/config/config.ts";
import { roles } from "../../../src/users/user.ts";
import { useFolder } from "../../support/folder.ts";
import { call } from "../../support/http.ts";
import { audience, startIssuer } from "../../support/issuer.ts";
import { stage } from "../../support/scene.ts";

const issuer = await startIssuer();
const folder = useFolder();
const own = stage().scene({ OIDC_AUDIENCE: audience, OIDC_ISSUER: issuer.url });

const as = (token: string) => ({ as: undefined, headers: { Authorization: `Bearer ${token}` } });

describe("a user of the issuer", () => {
  it("gets the rights that a file maps its groups to, besides topicsync's own roles", async () => {
    const map = {
      "/assurance team": ["topics.read@assurance.*", "topics.write@assurance"],
      everyone: ["status.read"],
      nothing: [],
    };
    const file = folder.createFile("roles.json", JSON.stringify(map));
    const names = { OIDC_ROLES_CLAIM: "groups", OIDC_ROLE_MAP: file };
    const service = await own.start(names);
    const getRoles = async (groups: unknown): Promise<unknown> => {
      const token = await issuer.token({ groups });
      const { json } = await call(`${service.url}/api/topicsync/v1/session`, { method: "GET", ...as(token) });
      return json.roles;
    };
    assert.deepEqual(await getRoles(["/assurance team", "everyone", "unknown", 7]), [
      ...map["/assurance team"],
      "status.read",
    ]);
    assert.deepEqual(await getRoles([roles.pushAdmin, "everyone", "nothing"]), [
      roles.pushAdmin,
      "status.read",
    ]);
    for (const groups of [["admin", "topics.read"], "toString constructor", ["__proto__"]])
      assert.deepEqual(await getRoles(groups), [], "a right must be mapped");
  });

  it("needs a valid file, whose faults are all reported", () => {
    const good = { OIDC_ISSUER: "https://id.example.org", OIDC_AUDIENCE: "topicsync" };
    const findFaults = (content: string): string => {
      const settings = { ...good, OIDC_ROLE_MAP: folder.createFile("wrong.json", content) };
      try {
        readConfig(settings);
      } catch (error) {
        if (error instanceof ConfigurationError) return error.message;
      }
      return "";
    };
    const faults = findFaults('{"a": ["topics.reed", "admin"], "b/c": "admin", "d": ["admin@x"]}');
    for (const at of ["/a/0 must be a right", "/b~1c must be an array", "/d/0 must be a right"])
      assert.ok(faults.includes(`OIDC_ROLE_MAP: ${at}`), faults);
    assert.match(findFaults("{"), /OIDC_ROLE_MAP: .*wrong\.json is not valid JSON/);
    assert.match(findFaults('{"a": [], "a": ["admin"]}'), /duplicate member "a"/);
    assert.match(findFaults("[]"), /OIDC_ROLE_MAP: the file must be an object/);
    assert.match(findFaults(""), /OIDC_ROLE_MAP: .* is not valid JSON/);
    assert.throws(
      () => readConfig({ ...good, OIDC_ROLE_MAP: "/nowhere/roles.json" }),
      /OIDC_ROLE_MAP: ENOENT/,
    );
    assert.throws(
      () => readConfig({ OIDC_ROLE_MAP: "/nowhere" }),
      /OIDC_ISSUER is required when OIDC_ROLE_MAP/,
    );
  });
});
