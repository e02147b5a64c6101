import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { alertsText, namesOfAlerts } from "./alerts.ts";
import { exposedSeries, selectorsWithoutSeries } from "./exposition.ts";
import { promtool } from "./promtool.ts";

const folder = fileURLToPath(new URL("../../../deploy/prometheus", import.meta.url));

describe("the alert rules", () => {
  it("are rules to Prometheus", () => promtool(folder, "check", "rules", "alerts.yml"));

  it("fire when they should and keep quiet otherwise", () =>
    promtool(folder, "test", "rules", "alerts.test.yml"));

  it("are each shown firing and keeping quiet", () => {
    const tests = readFileSync(`${folder}/alerts.test.yml`, "utf8")
      .split(/^ {2}- name: /m)
      .slice(1);
    const names = namesOfAlerts();
    assert.ok(names.length > 0);
    for (const name of names) {
      const firing = tests.filter((test) => test.startsWith(`${name} fires `));
      assert.ok(firing.length > 0, `no test shows that ${name} fires`);
      for (const test of firing)
        assert.ok(test.includes(`alertname="${name}"`), `a test of ${name} does not say that it fires`);
      const quiet = tests.filter((test) => test.startsWith(`${name} keeps quiet `));
      assert.ok(quiet.length > 0, `no test shows that ${name} keeps quiet`);
      for (const test of quiet)
        assert.ok(!test.includes(`alertname="${name}"`), `a test of ${name} says that it fires`);
    }
  });

  it("ask only for series that GET /metrics has", async () => {
    const rules = alertsText().replaceAll(/^\s*#.*$|runbook_url: .*$/gm, "");
    assert.deepEqual(selectorsWithoutSeries(rules, await exposedSeries()), []);
    assert.deepEqual(selectorsWithoutSeries('topicsync_ready{check="moon"}', await exposedSeries()), [
      'topicsync_ready{check="moon"}',
    ]);
  });
});
