import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createNamespaces } from "../../../src/matching/namespaces.ts";

describe("the namespaces of topics", () => {
  it("are kept once, for as long as a topic has them", () => {
    const namespaces = createNamespaces();
    namespaces.set("one", "sales");
    namespaces.set("two", "sales");
    namespaces.set("two", "sales");
    assert.deepEqual(
      [namespaces.get("one"), namespaces.get("two"), namespaces.count()],
      ["sales", "sales", 1],
    );
    namespaces.set("one", "assurance");
    assert.deepEqual([namespaces.get("one"), namespaces.count()], ["assurance", 2]);
    namespaces.delete("two");
    namespaces.delete("two");
    assert.deepEqual([namespaces.get("two"), namespaces.count()], ["", 1]);
    namespaces.delete("one");
    assert.equal(namespaces.count(), 0);
  });

  it("do not pile up while topics come and go", () => {
    const namespaces = createNamespaces();
    for (let i = 0; i < 1_000; i += 1) {
      namespaces.set("one", `namespace ${i}`);
      if (i % 2 === 0) namespaces.delete("one");
    }
    assert.equal(namespaces.count(), 1);
  });
});
