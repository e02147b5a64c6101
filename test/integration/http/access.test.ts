/** Every operation × its right × a limit to namespaces, from the declarations of the operations. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { operations } from "../../../docs/contracts.ts";
import { limitableRights, rights, type Right } from "../../../schemas/rights.ts";
import type { Operation } from "../../../src/operations/framework/operation.ts";
import { assertError, call } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { service } from "../../support/shared-service.ts";

interface Guarded extends Operation {
  readonly access: Right;
}

const isGuarded = (one: Operation): one is Guarded => one.access !== "anybody" && one.access !== "user";
const guarded = operations.filter(isGuarded);
const fill = (path: string): string => `${service.url}${path.replaceAll(/\{\w+\}/g, "name")}`;

/** Requests without a body: nothing is created. What they name does not exist. */
const tryWith = ({ method, paths: [path = ""] }: Operation, key: string) => call(fill(path), { method, key });

/** By the rights and limits of their holder. */
const keys = new Map<string, string>();
const getKey = (...grants: readonly string[]): string => keys.get(grants.join()) ?? "";
const others = (right: Right): Right[] => rights.filter((one) => one !== right);

async function prepareKey(...grants: readonly string[]): Promise<void> {
  keys.set(grants.join(), await createKey(service.url, ...grants));
}

service.prepare(async () => {
  for (const right of rights) {
    await prepareKey(right);
    await prepareKey(...others(right));
  }
  for (const right of limitableRights) await prepareKey(`${right}@assurance.*`);
});

describe("every protected operation", () => {
  it("rejects requests without credentials", async () => {
    assert.ok(guarded.length > 30);
    const needingUser = operations.filter(({ access }) => access !== "anybody");
    for (const { method, paths } of needingUser)
      for (const path of paths)
        assert.equal((await call(fill(path), { method, as: undefined })).status, 401, path);
  });

  it("rejects callers without its right, even with all other rights, and names it", async () => {
    // They show more of what another right allows.
    const additional: readonly Right[] = ["status.read", "dead-letters.read-content", "events.read"];
    for (const right of rights.filter((one) => !additional.includes(one)))
      assert.ok(
        guarded.some(({ access }) => access === right),
        `no operation requires ${right}`,
      );
    for (const one of guarded)
      for (const path of one.paths) {
        const response = await call(fill(path), { method: one.method, key: getKey(...others(one.access)) });
        assertError(response, 403, "FORBIDDEN");
        assert.ok(response.json.error.detail.startsWith(`The right ${one.access} is required. The role `));
      }
  });

  it("accepts callers with its right alone", async () => {
    for (const one of guarded) {
      const { status, text } = await tryWith(one, getKey(one.access));
      assert.ok(status !== 401 && status !== 403, `${one.id}: ${status} ${text}`);
    }
  });

  it("rejects callers whose right is limited to namespaces, unless it is declared to serve them", async () => {
    const limitable: readonly Right[] = limitableRights;
    for (const one of guarded.filter(({ access }) => limitable.includes(access))) {
      const { status, json } = await tryWith(one, getKey(`${one.access}@assurance.*`));
      assert.equal(status === 403, one.perNamespace !== true, `${one.id}: ${status}`);
      if (status === 403)
        assert.match(json.error.detail, / is required without a limit to namespaces\. /, one.id);
    }
  });
});
