import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { createConfig, lintFromString } from "@redocly/openapi-core";

import { contracts, fileSchemas } from "../../../docs/contracts.ts";

const committed = (name: string): URL => new URL(`../../../docs/${name}`, import.meta.url);

for (const [name, text] of Object.entries({ ...contracts, ...fileSchemas })) {
  describe(`docs/${name}`, () => {
    it("is up to date with the operations and schemas", async () => {
      const lines = (await readFile(committed(name), "utf8")).split("\n");
      const fresh = (await text()).split("\n");
      const at = fresh.findIndex((line, index) => line !== lines[index]);
      const renew = `line ${at + 1} of docs/${name} is out of date; run \`npm run docs\` and review the changes`;
      assert.equal(lines[at], fresh[at], renew);
      assert.equal(lines.length, fresh.length, renew);
    });
  });
}

for (const name of Object.keys(contracts)) {
  describe(`docs/${name}`, () => {
    it("passes the linter", async () => {
      const config = await createConfig({
        extends: ["recommended-strict"],
        rules: {
          "operation-4xx-response": "error",
          "no-invalid-schema-examples": "error",
          "no-ambiguous-paths": "error",
          "spec-strict-refs": "error",
          // Signing in with OpenID only redirects.
          "operation-2xx-response": "off",
        },
      });
      const absoluteRef = fileURLToPath(committed(name));
      const problems = await lintFromString({
        source: await readFile(absoluteRef, "utf8"),
        absoluteRef,
        config,
      });
      assert.deepEqual(
        problems.map(({ ruleId, message, location: [at] }) => `${ruleId} ${at?.pointer ?? ""}: ${message}`),
        [],
      );
    });
  });
}
