import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { isGrant, rights, rightsOfRole, type Right } from "../../../schemas/rights.ts";
import {
  findExcess,
  getNamespaces,
  hasRight,
  hasRightSomewhere,
  includesNamespace,
  listRights,
  mayReadEvents,
} from "../../../src/users/rights.ts";
import { everyRole } from "../../../src/users/user.ts";

describe("a right or role", () => {
  it("is known by its name, and may name a namespace if topics and dead letters have one", () => {
    for (const text of [
      ...rights,
      ...everyRole,
      "topics.read@",
      "topics.read@assurance",
      "topics.write@assurance.*",
      "dead-letters.replay@a b@c.d",
      `topics.read@${"x".repeat(1_000)}`,
    ])
      assert.ok(isGrant(text), text);
  });

  it("is nothing else", () => {
    for (const text of [
      "",
      "topics",
      "topics.delete",
      "topicsXread",
      "Topics.read",
      "topics.read ",
      "topics.*",
      "topics.read@*",
      "topics.read@.*",
      "topics.read@ass*",
      "topics.read@*.mobile",
      "admin@assurance",
      "status.read@",
      "installations.read-tokens@assurance",
      "push_admin@assurance",
      `topics.read@${"x".repeat(1_001)}`,
    ])
      assert.ok(!isGrant(text), text);
  });
});

const withRoles = (...roles: string[]) => ({ roles });

describe("the rights of a user", () => {
  it("are those of each role, and of no unknown one", () => {
    for (const [role, expected] of Object.entries(rightsOfRole))
      assert.deepEqual(listRights(withRoles(role, "unknown")).toSorted(), expected.toSorted());
    assert.deepEqual(listRights(withRoles(...everyRole)), rights);
    assert.deepEqual(listRights(withRoles("unknown", "toString", "__proto__")), []);
  });

  it("hold where the limits say, and everywhere if one is unlimited", () => {
    const limited = withRoles("topics.read@sales", "topics.read@assurance.*");
    assert.ok(!hasRight(limited, "topics.read"));
    assert.ok(hasRightSomewhere(limited, "topics.read"));
    assert.ok(!hasRightSomewhere(limited, "topics.write"));
    const both = withRoles("topics.read@sales", "topics.read", "topics.read@assurance.*");
    assert.equal(getNamespaces(both, "topics.read"), "all");
  });
});

describe("events", () => {
  it("are shown to those who may read any content and are administrators", () => {
    for (const [grants, expected] of [
      [["admin", "dead-letters.read-content"], true],
      [["admin", "dead-letters.read-content@a"], false],
      [["admin", "dead-letters.read"], false],
      [["dead-letters.read-content"], false],
    ] as const)
      assert.equal(mayReadEvents(withRoles(...grants)), expected, grants.join());
  });
});

describe("a limit to namespaces", () => {
  it("covers the namespace, and with .* those below it", () => {
    const covered = (grant: string, namespace: string | undefined) =>
      includesNamespace(getNamespaces(withRoles(grant), "topics.read"), namespace);
    assert.ok(covered("topics.read@a", "a"));
    assert.ok(!covered("topics.read@a", "a.b"));
    assert.ok(!covered("topics.read@a", "A"));
    assert.ok(covered("topics.read@a.*", "a"));
    assert.ok(covered("topics.read@a.*", "a.b.c"));
    assert.ok(!covered("topics.read@a.*", "ab"));
    assert.ok(!covered("topics.read@a.*", ""));
    assert.ok(covered("topics.read@", ""));
    assert.ok(!covered("topics.read@", "a"));
    assert.ok(!covered("topics.read@a.*", undefined));
    assert.ok(covered("topics.read", undefined));
  });
});

describe("what exceeds the rights of a user", () => {
  const user = withRoles("push_admin", "topics.read", "topics.write@a.*", "dead-letters.read@b");
  it("is found", () => {
    for (const grant of [
      "admin",
      "topicsync_admin",
      "topics.write",
      "topics.write@b",
      "topics.write@ab",
      "topics.write@",
      "dead-letters.read@b.*",
      "svc_api_notif_mgmt.event_mgmt_integration",
    ])
      assert.equal(findExcess(user, ["status.read", grant]), grant);
  });

  it("is nothing that is a part of them", () => {
    const parts = ["installations.read-tokens", "push_admin", "topics.read@x.*", "topics.write@a.*"];
    assert.equal(
      findExcess(user, [...parts, "topics.write@a.b.*", "topics.write@a.b", "dead-letters.read@b"]),
      undefined,
    );
    assert.equal(findExcess(user, []), undefined);
  });

  it("is what reaches somewhere that the user does not, whatever the grants", () => {
    /** Also below each namespace of a grant, so that ranges differ from all the namespaces in them. */
    const everywhere = ["", "a", "a.b", "a.b.c", "a.b.c.d", "a.z", "ab", "ab.z", "b", "b.z", undefined];
    const byRole: Readonly<Record<string, readonly Right[] | undefined>> = rightsOfRole;
    const reaches = (grant: string, right: Right, namespace: string | undefined): boolean => {
      const [granted = "", limit] = grant.split("@");
      if (limit === undefined) return granted === right || byRole[granted]?.includes(right) === true;
      if (granted !== right || namespace === undefined) return false;
      if (!limit.endsWith(".*")) return namespace === limit;
      return (
        namespace
          .split(".")
          .slice(0, limit.split(".").length - 1)
          .join(".") === limit.slice(0, -2)
      );
    };
    const limits = ["", "a", "a.b", "ab", "b", "a.*", "a.b.*", "ab.*"].map((limit) => `@${limit}`);
    const grants = ["topics.read", "topics.write"].flatMap((right) => [
      right,
      ...limits.map((one) => right + one),
    ]);
    const someGrants = fc.uniqueArray(fc.constantFrom(...grants, "admin", ...everyRole), { maxLength: 4 });
    fc.assert(
      fc.property(someGrants, someGrants, (held, wanted) => {
        const exceeds = (grant: string): boolean =>
          rights.some((right) =>
            everywhere.some(
              (one) => reaches(grant, right, one) && !held.some((own) => reaches(own, right, one)),
            ),
          );
        assert.equal(findExcess(withRoles(...held), wanted), wanted.find(exceeds));
      }),
    );
  });
});
