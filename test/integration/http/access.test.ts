/** Every operation in the OpenAPI document requires the role that the document names. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";

import { everyRole, type Role } from "../../../src/users/user.ts";
import { assertError, call } from "../../support/http.ts";
import { useService } from "../../support/scene.ts";

interface Described {
  readonly description: string;
  readonly security: readonly object[];
}

const service = useService();
const { paths } = JSON.parse(
  readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8"),
) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
};

/** The operations that require a user, and their role if they require one. */
const guarded = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { security }]) => security.length > 0 && !security.some(isOptional))
    .map(([method, { description }]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, "name"),
      role: /Requires the role `([^`]+)`/.exec(description)?.[1],
    })),
);
/** The empty requirement of an operation that also serves callers without credentials. */
function isOptional(requirement: object): boolean {
  return Object.keys(requirement).length === 0;
}

const password = "a password of a user";
const userWithout = (role: string) => ({ user: `all but ${role}`, password });

describe("every protected operation", () => {
  before(async () => {
    for (const role of everyRole) {
      const roles: Role[] = everyRole.filter((one) => one !== role);
      const body = { name: userWithout(role).user, password, roles };
      assert.equal((await call(`${service.url}/api/topicsync/v1/users`, { body })).status, 201);
    }
  });

  it("rejects requests without credentials", async () => {
    assert.ok(guarded.length > 20);
    for (const { method, path } of guarded)
      assert.equal((await call(`${service.url}${path}`, { method, as: undefined })).status, 401, path);
  });

  it("rejects users without its role, even with all other roles", async () => {
    const found = new Set(guarded.map(({ role }) => role));
    for (const role of everyRole) assert.ok(found.has(role), `nothing needs ${role}`);
    for (const { method, path, role } of guarded) {
      if (role === undefined) continue;
      assertError(await call(`${service.url}${path}`, { method, as: userWithout(role) }), 403, "FORBIDDEN");
    }
  });
});
