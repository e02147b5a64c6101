/** The settings of the webhook example are the same in its three places. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, it } from "node:test";

import { parse } from "yaml";

import { root } from "../../integration/docs/pages.ts";

const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** The variables with their defaults. */
const settings = Array.from(
  read("examples/webhook/src/main/resources/application.properties").matchAll(
    /\{\{env:(\w+)(?::(.*))?\}\}$/gm,
  ),
  ([, name = "", fallback]) => [name, fallback] as const,
);

interface Compose {
  readonly include?: readonly string[];
  readonly services: Readonly<
    Record<string, { readonly depends_on?: object; readonly environment?: Readonly<Record<string, string>> }>
  >;
}

describe("the webhook example", () => {
  it("has the settings that docs/webhooks.md lists", () => {
    const listed = Array.from(
      read("docs/webhooks.md").matchAll(/^\| `([A-Z_]+)` \| (?:`(.*)`)? ?\|/gm),
      ([, name, fallback]) => [name, fallback],
    );
    assert.equal(settings.length, 12);
    assert.deepEqual(listed, settings);
  });

  it("has a compose file that sets some of them, and depends on existing services", () => {
    const file = join(root, "examples/docker-compose.yml");
    const { include = [], services } = parse(readFileSync(file, "utf8")) as Compose;
    const included = include.map((path) => resolve(dirname(file), path));
    const known = new Set(Object.keys(services));
    for (const path of included) {
      assert.ok(existsSync(path), path);
      for (const name of Object.keys((parse(readFileSync(path, "utf8")) as Compose).services))
        known.add(name);
    }
    for (const { depends_on: needed = {} } of Object.values(services))
      for (const name of Object.keys(needed)) assert.ok(known.has(name), name);
    const names = settings.map(([name]) => name);
    const set = Object.keys(services["webhook"]?.environment ?? {});
    assert.deepEqual(
      set.filter((name) => !names.includes(name)),
      [],
    );
    const required = settings.filter(([, fallback]) => fallback === undefined).map(([name]) => name);
    assert.ok(required.every((name) => set.includes(name)));
  });
});
