import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createValidator } from "@topicsync/lib/validation";
import { topicDetailsBodySchema, type TopicDetailsBody } from "../../../schemas/topics/details.ts";
import {
  findDetailsFaults,
  formatDetails,
  noDetails,
  toDetails,
  toDetailsWords,
  toNextDetails,
  toWords,
} from "../../../src/topics/details/details.ts";

const check = createValidator<TopicDetailsBody>(topicDetailsBodySchema);

/** The faults of a body, as `path message`. */
function findFaults(body: unknown): readonly string[] {
  const checked = check(body);
  return checked.ok ? [] : checked.faults.map(({ path, message }) => `${path} ${message}`);
}

describe("the body of details", () => {
  it("may be empty, or have every member at its limit", () => {
    assert.deepEqual(findFaults({}), []);
    const long = "x".repeat(200);
    assert.deepEqual(
      findFaults({
        owner: long,
        contact: long,
        description: "é".repeat(2_000),
        tags: Array.from({ length: 20 }, (_, i) => `t${i}`.padEnd(50, "x")),
        labels: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`.padEnd(100, "x"), ""])),
        lifecycle: "deprecated",
        sunset: "2028-02-29",
        replacedBy: "x".repeat(1_000),
        consumers: Array.from({ length: 50 }, (_, i) => ({ name: `${i}`.padEnd(200, "x"), contact: long })),
        protected: true,
      }),
      [],
    );
  });

  it("is rejected with the member and the rule", () => {
    const cases: [body: object, ...faults: string[]][] = [
      [{ owner: "x".repeat(201) }, "/owner must have at most 200 characters"],
      [{ owner: "a\0b" }, "/owner must be well-formed Unicode text without NUL characters"],
      [{ owner: null }, "/owner must be a string, but is null"],
      [{ description: "x".repeat(2_001) }, "/description must have at most 2000 characters"],
      [{ description: "\ud800" }, "/description must be well-formed Unicode text without NUL characters"],
      [
        { tags: ["Network"] },
        "/tags/0 must be lower-case letters, digits, and : + #, with single hyphens between them, such as network-core",
      ],
      [{ tags: ["x".repeat(51)] }, "/tags/0 must have at most 50 characters"],
      [{ tags: Array.from({ length: 21 }, () => "a") }, "/tags must have at most 20 elements"],
      [
        { labels: { "a=b": "c" } },
        "/labels/a=b has a name that must be 1 to 100 letters, digits, and . _ / - inside, such as cost-center",
      ],
      [
        { labels: { $where: "c", ok: "a b" } },
        "/labels/$where has a name that must be 1 to 100 letters, digits, and . _ / - inside, such as cost-center",
        "/labels/ok must be at most 100 letters, digits, and . _ - inside",
      ],
      [{ labels: { a: 1 } }, "/labels/a must be a string, but is a number"],
      [{ lifecycle: "draft" }, "/lifecycle must be one of active, deprecated"],
      [{ sunset: "2027-02-29" }, "/sunset must be a date such as 2026-11-21"],
      [{ sunset: "2027-1-1" }, "/sunset must be a date such as 2026-11-21"],
      [{ sunset: "" }, "/sunset must be a date such as 2026-11-21"],
      [{ replaced_by: "x" }, "/replaced_by is not a known member; did you mean replacedBy?"],
      [{ consumers: [{}] }, "/consumers/0/name is required"],
      [{ consumers: [{ name: "" }] }, "/consumers/0/name must not be empty"],
      [{ protected: "yes" }, "/protected must be a boolean, but is a string"],
    ];
    for (const [body, ...faults] of cases) assert.deepEqual(findFaults(body), faults, JSON.stringify(body));
  });

  it("with thousands of labels has a short answer", () => {
    const names = Array.from({ length: 20_000 }, (_, i) => [`name ${i}`, "value"]);
    const faults = findFaults({ labels: Object.fromEntries(names) });
    assert.equal(faults[0], "/labels must have at most 20 members");
    assert.equal(faults.length, 51);
    assert.equal(faults.at(-1), " has 19951 more faults");
  });

  it("has further rules", () => {
    const details = toDetails({ replacedBy: "a", consumers: [{ name: "x" }, { name: "y" }, { name: "x" }] });
    assert.deepEqual(findDetailsFaults("a", details), [
      { path: "/replacedBy", message: "must be another topic" },
      { path: "/consumers/2/name", message: 'is the name of another consumer: "x"' },
    ]);
    assert.deepEqual(findDetailsFaults("b", toDetails({ replacedBy: "a" })), []);
  });
});

describe("the normal form of details", () => {
  it("does not depend on spelling, and says what differs", () => {
    const one = toDetails({ tags: ["b", "a", "b"], labels: { y: "1", x: "2" }, owner: "", consumers: [] });
    const same = toDetails({
      labels: { x: "2", y: "1" },
      lifecycle: "active",
      tags: ["a", "b"],
      sunset: null,
    });
    assert.equal(formatDetails(one), formatDetails(same));
    assert.deepEqual(one.labels, { x: "2", y: "1" });
    const members = {
      owner: "o",
      description: "d",
      contact: "c",
      tags: ["t"],
      labels: { l: "" },
      lifecycle: "deprecated",
      sunset: "2027-01-01",
      replacedBy: "r",
      consumers: [{ name: "n" }],
      protected: true,
    } satisfies Required<TopicDetailsBody>;
    const forms = Object.entries(members).map(([name, value]) => formatDetails(toDetails({ [name]: value })));
    assert.equal(new Set([formatDetails(noDetails), ...forms]).size, forms.length + 1);
  });

  it("keeps a label named like a member of every object", () => {
    const labels = JSON.parse('{"constructor": "a", "toString": ""}') as Record<string, string>;
    assert.deepEqual(toDetails({ labels }).labels, { constructor: "a", toString: "" });
  });
});

describe("the words of a topic", () => {
  it("are letters and digits in lower case, each once", () => {
    assert.deepEqual(toWords("Critical network-tickets: network/P1, ÄÖÜ ｆｕｌｌ"), [
      "critical",
      "network",
      "tickets",
      "p1",
      "äöü",
      "full",
    ]);
    assert.deepEqual(toWords("$where.* (((\n--"), ["where"]);
    assert.deepEqual(toWords("हिन्दी"), ["हिन्दी"]);
  });

  it("are limited, with the description last", () => {
    const topic = { externalId: "id-1", name: "Name" };
    const description = Array.from({ length: 1_000 }, (_, i) => `d${i}`)
      .join(" ")
      .slice(0, 2_000);
    const words = toDetailsWords(topic, toDetails({ owner: "Team NOC", tags: ["p1"], description }));
    assert.deepEqual(words.slice(0, 7), ["name", "id", "1", "team", "noc", "p1", "d0"]);
    assert.equal(words.length, 200);
    assert.deepEqual(toWords("😀x".repeat(30) + "𝒳".repeat(50)), [`x`, `x${"x".repeat(39)}`]);
  });
});

describe("the next version of details", () => {
  const topic = { externalId: "a", name: "Net", namespace: "space" };
  const at = new Date(1_000);
  const membership = { set: "assurance" };

  it("counts, keeps the set, and its times increase", () => {
    const first = toNextDetails(undefined, { topic, details: noDetails, membership, by: "ann", at });
    assert.deepEqual(first, {
      ...noDetails,
      externalId: "a",
      version: 1,
      namespace: "space",
      words: ["net", "a"],
      membership,
      changedOn: at,
      changedBy: "ann",
    });
    const details = toDetails({ owner: "bob" });
    const second = toNextDetails(first, { topic, details, by: "bob", at });
    assert.deepEqual(
      [second.version, second.owner, second.membership, second.changedOn.getTime(), second.changedBy],
      [2, "bob", membership, 1_001, "bob"],
    );
    const third = toNextDetails(second, { topic, details, membership: null, by: "bob", at: new Date(5_000) });
    assert.deepEqual([third.version, third.membership, third.changedOn.getTime()], [3, undefined, 5_000]);
  });
});
