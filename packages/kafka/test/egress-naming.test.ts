import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createEgressNaming } from "../interface/egress-naming.ts";

const create = (template: string, ...own: string[]) => createEgressNaming(template, new Set(own));

describe("the name of an egress topic", () => {
  it("has the members of the topic in place of its placeholders, each as it is", () => {
    const { getName, fixedName } = create("out.{namespace}.{externalId}.{externalId}");
    assert.equal(getName({ externalId: "{namespace}", namespace: "$&" }), "out.$&.{namespace}.{namespace}");
    assert.equal(fixedName, undefined);
  });

  it("is fixed without placeholders", () => {
    const { getName, fixedName } = create("out");
    assert.equal(getName({ externalId: "a", namespace: "b" }), "out");
    assert.equal(fixedName, "out");
  });

  it("must be legal for Kafka, and no topic that Kafka or topicsync uses", () => {
    const naming = create("{externalId}", "events");
    const findFault = (externalId: string) => naming.findFault({ externalId, namespace: "" });
    for (const name of ["a", "A-z_0.9", "x".repeat(249), "..."])
      assert.equal(findFault(name), undefined, name);
    for (const name of ["", ".", "..", "a b", "ä", "a/b", "x".repeat(250)])
      assert.match(findFault(name) ?? "", /not a valid Kafka topic name/, name);
    assert.match(findFault("__consumer_offsets") ?? "", /reserved/);
    for (const name of ["constructor", "toString"])
      assert.match(findFault(name) ?? "", /the Kafka client cannot use/);
    assert.match(findFault("events") ?? "", /topicsync itself uses/);
  });
});

describe("the Kafka topics of different namespaces", () => {
  const templates = [
    "to.{namespace}.{externalId}",
    "to.{externalId}.{namespace}",
    "to.{namespace}--{externalId}",
  ];
  const words = ["", "a", "b", "a.b", "b.a", "a.a.b", "-", "a-", "--a", "a--b"];

  for (const template of [
    ...templates,
    "to.{namespace}{externalId}",
    "x{namespace}.{externalId}.{namespace}",
  ])
    it(`are never the same with ${template}`, () => {
      const { getName, findFault } = create(template);
      const owners = new Map<string, string>();
      for (const namespace of words)
        for (const externalId of words.filter((word) => word !== "")) {
          if (findFault({ namespace, externalId }) !== undefined) continue;
          const name = getName({ namespace, externalId });
          assert.equal(owners.get(name) ?? namespace, namespace, name);
          owners.set(name, namespace);
        }
      assert.ok(owners.size > 1, "some topics have one");
    });

  it("may have dots in their namespaces", () => {
    for (const template of templates.slice(0, 2)) {
      const { findFault } = create(template);
      assert.equal(findFault({ namespace: "pay.cards", externalId: "fraud-1" }), undefined);
      assert.match(findFault({ namespace: "pay", externalId: "cards.fraud" }) ?? "", /for another namespace/);
    }
  });
});

describe("the Kafka topics that may be one of a topic", () => {
  it("have a name that fits the template, and are not used for anything else", () => {
    const { matches } = create("to.{namespace}.{externalId}", "to.own.topic");
    assert.deepEqual(
      ["to.a.b", "to..b", "to.a.b.c", "toxa.b", "x.to.a.b", "to.a", "to.own.topic"].filter(matches),
      ["to.a.b", "to..b", "to.a.b.c"],
    );
  });
});
