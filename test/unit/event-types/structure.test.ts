import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseEvent } from "@topicsync/filters";
import { structureLimits, type PathStatistics } from "../../../src/event-types/event-type.ts";
import { EventStructure } from "../../../src/event-types/structure.ts";
import { createRandom, type Random } from "../../support/random.ts";

const create = (): EventStructure => new EventStructure({ paths: Infinity });

/** Learns events that are given as JSON, as the router does. */
function learn(structure: EventStructure, ...events: readonly (object | string)[]): EventStructure {
  for (const event of events)
    structure.learn(parseEvent(typeof event === "string" ? event : JSON.stringify(event)) as object);
  return structure;
}

/** Events and kinds by path. */
const toCounts = (paths: readonly PathStatistics[]): Record<string, object> =>
  Object.fromEntries(
    paths.map(({ path, events, kinds }) => [
      path.join("/"),
      { events, ...Object.fromEntries(Object.entries(kinds).filter(([, count]) => count > 0)) },
    ]),
  );

const find = (structure: EventStructure, ...path: readonly string[]): PathStatistics | undefined =>
  structure.list().find((one) => one.path.join("/") === path.join("/"));

describe("the structure of events", () => {
  it("counts events, not occurrences, and every kind of value, through lists", () => {
    const structure = learn(
      create(),
      { a: [{ b: 1 }, { b: 2 }, { b: "x" }], c: null },
      { a: { b: true }, d: [[12345678901234567890n.toString()], []] },
      '{"d": 12345678901234567890}',
    );
    assert.deepEqual(toCounts(structure.list()), {
      a: { events: 2, object: 2, list: 1 },
      "a/b": { events: 2, string: 1, number: 1, boolean: 1 },
      c: { events: 1, null: 1 },
      d: { events: 2, string: 1, number: 1, list: 1 },
    });
    assert.equal(structure.isComplete, true);
  });

  it("knows texts that compare as numbers or as times", () => {
    const structure = learn(create(), { a: "12.5" }, { a: "2026-11-03" }, { a: "-" }, { a: "1st" });
    assert.deepEqual(find(structure, "a")?.texts, { number: 1, time: 1 });
  });

  it("takes names of every kind", () => {
    const names = ["", ".", "a.b", "$where", "__proto__", "constructor", "toString", "\u0000", "\ud800", "é"];
    const json = `{${names.map((name) => `${JSON.stringify(name)}: {"x": 1}`).join()}}`;
    const structure = learn(create(), json, json);
    assert.deepEqual(
      structure.list().map(({ path, events }) => [path, events]),
      names.flatMap((name) => [
        [[name], 2],
        [[name, "x"], 2],
      ]),
    );
  });

  it("joins the names below a member with many", () => {
    const byId = (n: number) => ({ [`id-${n}`]: { state: n % 2 === 0 ? "on" : null } });
    const structure = create();
    for (let n = 0; n < 1_000; n += 1) learn(structure, { byId: byId(n), fixed: 1 });
    // The 200 names before are taken to be of the same event.
    assert.deepEqual(toCounts(structure.list()), {
      byId: { events: 1_000, object: 1_000 },
      "byId/*": { events: 801, object: 801 },
      "byId/*/state": { events: 801, string: 401, null: 401 },
      fixed: { events: 1_000, number: 1_000 },
    });
    assert.equal(structure.find(["byId", "id-1001"]), "open");
    assert.equal(structure.find(["fixed", "id-1001"]), undefined);
  });

  it("adds at most 200 names for an object with 100,000", () => {
    const large = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`key ${n}`, n]));
    const structure = learn(create(), { large, after: 1 });
    assert.ok(structure.size <= structureLimits.namesPerMember + 2, `${structure.size} paths`);
    assert.equal(find(structure, "after")?.events, 1);
  });

  it("does not keep names that are data", () => {
    const structure = learn(create(), {
      "ann@example.org": 1,
      "@type": 2,
      ["x".repeat(1_000_000)]: 3,
      name: 4,
    });
    assert.deepEqual(
      structure.list().map(({ path }) => path.join("/")),
      ["*", "@type", "name"],
    );
  });

  it("stops at 32 levels, 5,000 values and 1,000 paths, and says so", () => {
    const nest = (depth: number, [open, close]: readonly [string, string]): string =>
      `{"deep": ${open.repeat(depth)}1${close.repeat(depth)}}`;
    for (const json of [nest(100_000, ['{"a":', "}"]), nest(100_000, ["[", "]"])]) {
      const deep = learn(create(), json);
      assert.ok(deep.size <= structureLimits.levels);
      assert.equal(deep.isComplete, false);
    }
    const wide = learn(create(), {
      rows: Array.from({ length: 100 }, () => ({ cells: Array(100).fill(1) })),
    });
    assert.equal(wide.isComplete, false);
    const many = create();
    for (let n = 0; n < 300; n += 1)
      learn(many, { [`part ${n % 150}`]: Object.fromEntries(Array.from({ length: 100 }, (_, m) => [m, n])) });
    assert.equal(many.size, structureLimits.pathsPerType);
    assert.equal(many.isComplete, false);
  });

  it("keeps values that are few and short and occur again and again", () => {
    const structure = create();
    for (let n = 0; n < 500; n += 1)
      learn(structure, {
        severity: ["Critical", "Minor"][n % 2],
        mail: `${n}@example.org`,
        of40: `value ${n % 40}`,
        of60: n % 60,
        long: "x".repeat(65),
        flag: true,
      });
    assert.deepEqual(
      structure.list().map(({ path, values = [] }) => [path[0], values.length]),
      [
        ["severity", 2],
        ["mail", 0],
        ["of40", 40],
        ["of60", 0],
        ["long", 0],
        ["flag", 1],
      ],
    );
    const few = learn(create(), ...Array.from({ length: 30 }, (_, n) => ({ mail: `${n}@example.org` })));
    assert.equal(find(few, "mail")?.values, undefined);
  });

  it("stays within its limits whatever is added", () => {
    for (let seed = 0; seed < 10; seed += 1) {
      const random = createRandom(seed);
      const whole = create();
      for (let n = 0; n < 240; n += 1) learn(whole, createHostileEvent(random));
      const listed = whole.list();
      assert.ok(whole.size <= structureLimits.pathsPerType);
      assert.ok(listed.length <= whole.size);
      assert.ok(JSON.stringify(listed).length < 3_000_000);
      for (const { path, events, values = [] } of listed) {
        assert.ok(path.join("").length <= structureLimits.pathLength);
        assert.ok(values.length <= structureLimits.valuesPerPath);
        assert.ok(events <= 240, `${path.join("/")}: ${events} of 240 events`);
      }
      for (const [, siblings] of Map.groupBy(listed, ({ path }) => path.slice(0, -1).join("\n")))
        assert.ok(siblings.length <= structureLimits.namesPerMember + 1);
    }
  });
});

/** Adds up to 60 members at random places, some of which get many names. */
function createHostileEvent(random: Random): object {
  const root = JSON.parse("{}") as Record<string, unknown>;
  const places = [root];
  for (let n = 0; n < 60; n += 1) {
    const place = random.pickOptional(places) ?? root;
    const inner = JSON.parse("{}") as Record<string, unknown>;
    const kind = random.between(0, 4);
    if (kind < 2) places.push(inner);
    const values = [inner, [inner, 1, [null, "x"]], random.between(0, 99), "y".repeat(200), "2026-01-01"];
    // As JSON.parse does: an assignment would change the prototype.
    Object.defineProperty(place, createHostileName(random), {
      value: values[kind],
      enumerable: true,
      configurable: true,
    });
  }
  return root;
}

const createHostileName = (random: Random): string =>
  random.pickOptional([
    "a",
    "b",
    "__proto__",
    "",
    "*",
    "x.y",
    `${random.between(0, 999)}`,
    "n".repeat(random.between(1, 90)),
  ]) ?? "";
