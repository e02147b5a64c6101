import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TopicNamespaces } from "../../picker/namespaces.ts";

describe("the namespaces of topics", () => {
  it("are kept once, for as long as a topic has them", () => {
    const namespaces = new TopicNamespaces();
    namespaces.set(1, "sales");
    namespaces.set(2, "sales");
    namespaces.set(2, "sales");
    assert.deepEqual([namespaces.get(1), namespaces.get(2), namespaces.size], ["sales", "sales", 1]);
    namespaces.set(1, "assurance");
    assert.deepEqual([namespaces.get(1), namespaces.size], ["assurance", 2]);
    namespaces.delete(2);
    namespaces.delete(2);
    assert.deepEqual([namespaces.get(2), namespaces.size], ["", 1]);
    namespaces.delete(1);
    assert.equal(namespaces.size, 0);
  });

  it("do not pile up while topics come and go", () => {
    const namespaces = new TopicNamespaces();
    for (let i = 0; i < 1_000; i += 1) {
      namespaces.set(1, `namespace ${i}`);
      if (i % 2 === 0) namespaces.delete(1);
    }
    assert.equal(namespaces.size, 1);
  });
});
