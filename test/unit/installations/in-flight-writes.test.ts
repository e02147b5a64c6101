import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { InvariantError } from "@topicsync/lib/invariant";
import { InFlightWrites } from "../../../src/installations/in-flight-writes.ts";
import type { InstallationWrite } from "../../../src/installations/stores.ts";

const scope = { application: "agent", platform: "ios" } as const;
const register = (token: string, previousToken?: string): InstallationWrite => ({
  kind: "register",
  key: { ...scope, token },
  user: "ann",
  previousToken,
});

describe("writes in flight", () => {
  it("conflict until the last write of a token is removed", () => {
    const writes = new InFlightWrites();
    writes.add(register("one", "two"));
    writes.add(register("two"));
    writes.remove(register("one", "two"));
    assert.deepEqual(
      [writes.size, writes.hasConflict(register("one")), writes.hasConflict(register("two"))],
      [1, false, true],
    );
  });

  it("cannot be removed unless they were added", () => {
    const writes = new InFlightWrites();
    assert.throws(() => {
      writes.remove(register("one"));
    }, InvariantError);
    writes.add(register("one"));
    assert.throws(() => {
      writes.remove(register("two"));
    }, InvariantError);
  });
});
