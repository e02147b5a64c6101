import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";

import { findLeaks } from "../../support/secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "topicsync-leaks-"));
after(() => {
  rmSync(folder, { recursive: true });
});

it("finds log lines that contain a secret of their test, also within JSON", () => {
  const write = (name: string, ...lines: string[]): void => {
    writeFileSync(join(folder, name), lines.map((line) => `${line}\n`).join(""));
  };
  write("1.secrets", JSON.stringify("open sesame"), JSON.stringify('quoted " secret'));
  write("1.log", "all is well", '{"msg":"he said open sesame"}', '{"token":"quoted \\" secret"}');
  write("1-audit.log", "open sesame");
  write("2.secrets", JSON.stringify("another one"));
  write("2.log", "open sesame is no secret here");
  const { leaks, secrets } = findLeaks(folder);
  assert.deepEqual(leaks.toSorted(), [
    "1-audit.log: open sesame",
    '1.log: {"msg":"he said open sesame"}',
    '1.log: {"token":"quoted \\" secret"}',
  ]);
  assert.ok(secrets > 0);
});
