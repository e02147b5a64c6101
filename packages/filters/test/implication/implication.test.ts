import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { classifyChange, implies, TopicConditions, type Implication } from "../../implication/implication.ts";
import { printCondition, printFilter } from "../../filter/to-text.ts";
import { readFilters, type FilterTexts, type RootedCondition } from "../../filter/topic-filters.ts";
import { fewRuns } from "../../../../test/support/runs.ts";
import { everyCondition, everyEvent } from "../filter/every-operator.ts";
import { checkVerdict, testRandomImplications } from "./implication-tests.ts";

const read = (headerQuery: string): RootedCondition[] => readFilters({ headerQuery });
const prepare = (headerQuery: string): TopicConditions => new TopicConditions(read(headerQuery));
const decide = (one: string, other: string): Implication => implies(prepare(one), prepare(other));
const decideBoth = (one: FilterTexts, other: FilterTexts): Implication =>
  implies(new TopicConditions(readFilters(one)), new TopicConditions(readFilters(other)));
testRandomImplications(fewRuns);

describe("an implication", () => {
  it("of every operator by every other one is never contradicted by an event", () => {
    const some = everyCondition.filter((_, at) => at % 5 === 0);
    const filters = some.map((condition) => read(printFilter({ conditions: [condition] })));
    const given = everyEvent.map((event) => ({ event, record: {} }));
    for (const one of filters)
      for (const other of filters)
        checkVerdict(implies(new TopicConditions(one), new TopicConditions(other)), [one, other], given);
  });

  const implied: readonly (readonly [one: string, other: string])[] = [
    ["a=1", ""],
    ["a=1,2", "a=1,2,3"],
    ["a=10", "a>5"],
    ["a=1&b=2", "b=2"],
    ["a=1&b=2", "a!=2&b<3"],
    ["a!=1,2", "a!=1"],
    ["a>5", "a>=5"],
    ["a>9&a<5", "a>8"],
    ["a>5", "a!=5"],
    ["a=Alarm,Alert", "a.prefix=Al"],
    ["a.prefix=Alarm,Alert", "a.prefix=Al"],
    ["a.suffix=xyz", "a.suffix=yz,z"],
    ["a.prefix=xaby", "a.contains=ab"],
    ["a.suffix=xaby", "a.contains=ab"],
    ["a.contains=xaby", "a.contains=ab"],
    ["a.prefix=m", "a>=m"],
    ["a.prefix=m", "a<n"],
    ["a.prefix=m", "a>5"],
    ["a.prefix=x", "a!=y"],
    ["a=X", "a.eqi=x"],
    ["a.eqi=X,y", "a.eqi=x,Y,z"],
    ["a.eqi=10", "a=10"],
    ["a.eqi=x", "a!=y"],
    ["a.regex=^x.*y$", "a.regex=^x.*y$"],
    ["a.regex=^xy.*z$", "a.prefix=x"],
    ["a.like=x*y*z", "a.like=x*y*z,z"],
    ["a.like=xy*z", "a.prefix=x"],
    ["a.like=xy*zz", "a.suffix=z"],
    ["a.like=x*yy*z", "a.contains=y"],
    ["a.like=x*", "a.prefix=x"],
    ["a.prefix=x", "a.like=x*"],
    ["a=5", "a.like=*"],
    ["a=5", "a.exists=true"],
    ["a.b=5", "a.exists=true"],
    ["a.exists=false", "a.b.exists=false"],
    ["a.b=1&a.exists=false", "c=1"],
    ["$header.a=10", "$header.a.prefix=10"],
    ["$key.exists=true&$key=x", "$key.prefix=x"],
    // At most one text, so that all conditions are about the same one.
    ["eventType.prefix=a&eventType.suffix=z&eventType=az,bz", "eventType=az"],
    ["eventType.prefix=a&eventType!=a1", "eventType!=a1,b1"],
    ["$ce.type=x&$ce.type.prefix=y", "a=1"],
    ["a=1", "eventType.x.exists=false"],
  ];
  for (const [one, other] of implied)
    it(`is proved: ${one} implies ${other || "nothing"}`, () => {
      const verdict = decide(one, other);
      assert.equal(verdict, "implied");
      checkVerdict(verdict, [read(one), read(other)], []);
    });

  const refuted: readonly (readonly [one: string, other: string])[] = [
    ["", "a=1"],
    ["a=1,2", "a=1"],
    ["a=10", "a>9&a<10"],
    ["a!=1", "a!=1,2"],
    // The text "10.0" is another text than "10", but the number is the same.
    ["a=10", "a=10.0"],
    ["a=10.0", "a.prefix=10.0"],
    ["a>5", "a>5.0"],
    ["a>9", "a>10"],
    ["a.prefix=2", "a>=1.0"],
    ["a>=2026-01-01T00:00:00Z", "a>2026-01-01T00:00:00Z"],
    ["a>2026-01-01T00:00:00Z", "a>=2026-01-01T00:00:02Z"],
    ["a>1&a<2", "a=1.5"],
    ["a.prefix=Al", "a.prefix=Alarm"],
    ["a.prefix=x", "a=x"],
    ["a.prefix=m", "a>m"],
    ["a.prefix=m", "a<mz"],
    ["a.contains=ab", "a.prefix=ab"],
    ["a.eqi=x", "a=x"],
    ["a.regex=^Al.*", "a.prefix=Alarm"],
    ["a.regex=(?i)^[A-C]{2}\\d+(x|y)", "a.prefix=AB"],
    ["a.like=a?c*", "a.suffix=c"],
    ["a.exists=true", "a!=1"],
    ["a.exists=true", "a.b.exists=true"],
    ["a=1", "b.exists=false"],
    ["a=1", "a.b.exists=false"],
    ["$key.exists=true", "$key=x"],
    ["$key.prefix=a&$key.suffix=z", "$key=abz"],
    // Each condition selects its own element of a list.
    ["a.prefix=a&a.suffix=z&a=az,bz", "a=az"],
    ["a=1&a.prefix=x", "a=2"],
    ["__proto__.a=1", "__proto__.a=2"],
  ];
  for (const [one, other] of refuted)
    it(`is refuted: ${one || "nothing"} does not imply ${other}`, () => {
      const verdict = decide(one, other);
      assert.equal(verdict, "refuted");
      checkVerdict(verdict, [read(one), read(other)], []);
    });

  it("is undecided where neither a proof nor an event is found", () => {
    for (const [one, other] of [
      ["a.regex=^x+$", "a.regex=^xx*$"],
      ["a.like=?*", "a.regex=.*"],
      // Numbers are compared with 5 as numbers, everything else as texts.
      ["a>=x", "a>5"],
    ] as const)
      assert.equal(decide(one, other), "undecided", `${one} | ${other}`);
  });

  it("is about both filters of a topic, with one meaning of each path", () => {
    assert.equal(decideBoth({ headerQuery: "event.a=1" }, { contentQuery: "a=1,2" }), "implied");
    // Two filters are AND, although a name that is repeated in one is OR.
    const both = { headerQuery: "event.a=1", contentQuery: "a=2" };
    assert.equal(decideBoth(both, { contentQuery: "a=2" }), "implied");
    assert.equal(decideBoth({ contentQuery: "a=1,2" }, both), "refuted");
  });
});

describe("a contradiction", () => {
  const find = (headerQuery: string, withoutLists = false): string[] | undefined =>
    prepare(headerQuery).findContradiction({ withoutLists })?.map(printCondition);

  it("is found where something is certain about events", () => {
    for (const filter of [
      "event=1",
      "eventType.x=1",
      "eventType.x.exists=true",
      "eventType=a&eventType.prefix=b",
      "eventType=a&eventType!=a",
      "eventId>b&eventId<a",
      "@type.prefix=a&@type.prefix=b,c",
      "@type.suffix=a&@type.suffix=b",
      "eventType.eqi=a&eventType.eqi=b",
      "eventType.prefix=m&eventType<a",
      "eventType.exists=false&eventType=a",
      "$key=a&$key.contains=b",
      "$ce.type=a&$ce.type.suffix=b",
      "a.b=1&a.exists=false",
    ])
      assert.ok(find(filter), filter);
  });

  it("is not found where a list has several values", () => {
    for (const filter of [
      "a>5&a<3",
      "a=1&a.b=1",
      "$header.a=1&$header.a.prefix=2",
      "$ce.extension=a&$ce.extension.suffix=b",
      "eventType.prefix=a&eventType.suffix=b",
      "event.a.exists=true&event.exists=true",
      "a.exists=false&a.b.exists=false",
    ])
      assert.equal(find(filter), undefined, filter);
    assert.deepEqual(find("b=1&a>5&a<3", true), ["a>5", "a<3"]);
    assert.deepEqual(find("a=1&a.b=1", true), ["a=1", "a.b=1"]);
    assert.equal(find("a>3&a<5&b=1", true), undefined);
  });
});

describe("a change of filters", () => {
  it("is classified by what happens to the events", () => {
    for (const [before, after, expected] of [
      ["eventType=a,b", "eventType=b,a", "same"],
      ["a=1", "a=1&a.exists=true", "same"],
      ["a=1", "a=1,2", "widened"],
      ["a=1", "", "widened"],
      ["a>5", "a>5&b=1", "narrowed"],
      ["eventType=a", "eventType=b", "disjoint"],
      ["eventType.prefix=a&x=1", "eventType.prefix=b", "disjoint"],
      ["a.exists=false", "a=1", "disjoint"],
      ["a=1", "a=2", "changed"],
      ["a.regex=^x+$", "a.regex=^xx*$", "undecided"],
      ["event=1", "a=1", "widened"],
    ] as const)
      assert.equal(classifyChange(prepare(before), prepare(after)), expected, `${before} | ${after}`);
  });
});
