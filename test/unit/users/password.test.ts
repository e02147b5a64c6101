import assert from "node:assert/strict";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { describe, it } from "node:test";

import { hashPassword, verifyPassword } from "../../../src/users/password.ts";

describe("a password hash", () => {
  it("verifies the password and no other", async () => {
    const hash = await hashPassword("pässword");
    assert.equal(await verifyPassword("pässword", hash), true);
    assert.equal(
      await verifyPassword("pa\u0308ssword", hash),
      true,
      "the same letters, composed in another way",
    );
    assert.equal(await verifyPassword("password", hash), false);
  });

  it("is scrypt with the cost that it states", async () => {
    // Computed with Python's hashlib.scrypt.
    const hash = "$scrypt$ln=15,r=8,p=3$MDEyMzQ1Njc4OWFiY2RlZg$2KYVwZHbd6sPjHuVKIEmYMm+1D9qdBs3Glcx6qkXjCY";
    assert.equal(await verifyPassword("pässword", hash), true);
    assert.match(await hashPassword("pässword"), /^\$scrypt\$ln=15,r=8,p=3\$[^$]{22}\$[^$]{43}$/);
  });

  it("has a random salt", async () => {
    assert.notEqual(await hashPassword("x"), await hashPassword("x"));
  });

  it("never matches when it is malformed", async () => {
    const tooCostly = "$scrypt$ln=30,r=8,p=3$c2FsdA$aGFzaA";
    for (const hash of ["", "x", "$scrypt$", "plain", tooCostly, "$scrypt$ln=0,r=0,p=0$c2FsdA$aGFzaA"])
      assert.equal(await verifyPassword("", hash), false);
  });

  it("costs the same without a user or a valid hash", async (t) => {
    const derive = t.mock.method(crypto, "scrypt");
    syncBuiltinESMExports();
    t.after(() => {
      derive.mock.restore();
      syncBuiltinESMExports();
    });
    const stored = await hashPassword("right");
    for (const hash of [stored, undefined, "not a hash"]) await verifyPassword("wrong", hash);
    const [expected, ...costs] = derive.mock.calls.map(({ arguments: given }) => given[3]);
    assert.ok(expected !== undefined);
    assert.deepEqual(costs, [expected, expected, expected]);
  });
});
