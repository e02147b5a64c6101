import assert from "node:assert/strict";
import { it } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { warnAboutTokenRules } from "../../../src/service/warnings.ts";
import type { CatalogRecord } from "../../../src/installations/catalog.ts";

async function findWarnings(platforms: CatalogRecord[]): Promise<unknown[]> {
  const lines: unknown[] = [];
  const log = await createLogger("warn", { write: (line: string) => void lines.push(JSON.parse(line)) });
  await warnAboutTokenRules({ list: () => Promise.resolve(platforms) }, log);
  return lines.map((line) => (line as { platforms: unknown }).platforms);
}

it("a start warns once, about the active platforms without a token rule", async () => {
  const platforms = [
    { name: "android", active: true },
    { name: "ios", active: true, tokenRule: "apns" },
    { name: "old", active: false },
    { name: "web", active: true },
  ];
  assert.deepEqual(await findWarnings(platforms), [["android", "web"]]);
  assert.deepEqual(await findWarnings(platforms.slice(1, 3)), []);
});
