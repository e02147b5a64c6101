/** What the linter has no rule for. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const product = ["packages", "src", "http", "consumers", "schemas"];
const maxWidth = 110;

const readLines = (folders: readonly string[], exclude: string[] = []): [place: string, line: string][] =>
  globSync(
    folders.map((folder) => `${folder}/**/*.{ts,tsx}`),
    { cwd: root, exclude },
  ).flatMap((file) =>
    readFileSync(`${root}${file}`, "utf8")
      .split("\n")
      .map((line, at): [string, string] => [`${file}:${at + 1}`, line]),
  );

const tests = readLines(["test", "packages/*/test"]);

/** The lines of tests with a pattern, except in some folders and files. */
const findInTests = (pattern: RegExp, allowed: readonly string[]): string[] =>
  tests.flatMap(([place, line]) =>
    pattern.test(line) && !allowed.some((path) => place.startsWith(`test/${path}`)) ? [place] : [],
  );

describe("the sources", () => {
  it(`have comments of at most ${maxWidth} columns`, () => {
    const wide = [...readLines([...product, "console/src", "demo", "bench", "docs"]), ...tests]
      .filter(([, line]) => line.length > maxWidth && /^\s*(?:\/\/|\/\*\*|\*)/.test(line))
      // An address cannot be broken.
      .filter(([, line]) => !line.includes("https://"));
    assert.deepEqual(
      wide.map(([place]) => place),
      [],
    );
  });

  it("of the product export each name once", () => {
    const exported = readLines(product, ["packages/*/test/**"]).flatMap(([place, line]) => {
      const name = /^export (?:abstract |async )?(?:const|function\*?|class|interface|type) (\w+)/.exec(
        line,
      )?.[1];
      return name === undefined ? [] : [{ name, place }];
    });
    const twice = [...Map.groupBy(exported, ({ name }) => name)].filter(([, places]) => places.length > 1);
    assert.deepEqual(
      twice.map(([name, places]) => `${name}: ${places.map(({ place }) => place).join(", ")}`),
      [],
    );
  });
});

describe("the tests", () => {
  const itself = "unit/style.test.ts";

  it("wait for what happens, not for a time", () => {
    const sleeping = findInTests(/setTimeout.*from "(?:node:)?timers|\bscheduler\.wait\(/, [
      itself,
      "support/poll.ts",
    ]);
    const timed = findInTests(/\bset(?:Timeout|Interval)\(/, [
      itself,
      // These are the network, or replace the clock of the product.
      ...["support/mongo-faults.ts", "support/tcp-proxy.ts", "simulated-servers/", "simulation/"],
      ...["unit/http/framework/server.test.ts", "unit/storage/topics/feed.long.test.ts"],
    ]);
    const paced = findInTests(/\bpause\b.* from ".*\/poll\.ts"/, [
      itself,
      "integration/chaos/",
      "integration/sync/kafka-security.",
    ]);
    assert.deepEqual([...sleeping, ...timed, ...paced], []);
  });

  it("can repeat what they choose at random", () => {
    const unrepeatable = /\bMath\.random\b|\brandomInt\b|\brandomSeed\b|\b\.sample\((?!.*\bseed\b)/;
    const allowed = [
      itself,
      "support/random.ts",
      "simulated-servers/",
      "simulation/",
      "integration/chaos/chaos.ts",
    ];
    assert.deepEqual(findInTests(unrepeatable, allowed), []);
  });
});
