import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { readAlerts, readAlertNames } from "./alerts.ts";
import { collectSeries, findUnmatchedSelectors } from "./exposition.ts";

const folder = fileURLToPath(new URL("../../../deploy/prometheus", import.meta.url));

describe("the alert rules", () => {
  it("each have a test in which they fire and one in which they do not", () => {
    const tests = readFileSync(`${folder}/alerts.test.yml`, "utf8")
      .split(/^ {2}- name: /m)
      .slice(1);
    const names = readAlertNames();
    assert.ok(names.length > 0);
    for (const name of names) {
      const firing = tests.filter((test) => test.startsWith(`${name} fires `));
      assert.ok(firing.length > 0, `no test shows that ${name} fires`);
      for (const test of firing)
        assert.ok(test.includes(`alertname="${name}"`), `a test of ${name} does not expect it to fire`);
      const quiet = tests.filter((test) => test.startsWith(`${name} keeps quiet `));
      assert.ok(quiet.length > 0, `no test shows that ${name} keeps quiet`);
      for (const test of quiet)
        assert.ok(!test.includes(`alertname="${name}"`), `a test of ${name} expects it to fire`);
    }
  });

  it("query only series that GET /metrics returns", async () => {
    const rules = readAlerts().replaceAll(/^\s*#.*$|runbook_url: .*$/gm, "");
    assert.deepEqual(findUnmatchedSelectors(rules, await collectSeries()), []);
    assert.deepEqual(findUnmatchedSelectors('topicsync_ready{check="moon"}', await collectSeries()), [
      'topicsync_ready{check="moon"}',
    ]);
  });
});
