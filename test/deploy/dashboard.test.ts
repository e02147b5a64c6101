import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { exposedSeries, selectorsWithoutSeries } from "./exposition.ts";
import { promtool } from "./promtool.ts";

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: unknown;
  readonly targets?: readonly { readonly expr: string; readonly datasource: unknown }[];
}

const { panels, templating }: { panels: Panel[]; templating: { list: { name: string }[] } } = JSON.parse(
  readFileSync(new URL("../../deploy/grafana/topicsync.json", import.meta.url), "utf8"),
);
const withQueries = panels.filter(({ type }) => type !== "row");
const targets = withQueries.flatMap(({ targets = [] }) => targets);

/** As Grafana asks it with all instances chosen. */
const asked = (expr: string): string =>
  expr.replaceAll("$instance", ".+").replaceAll("$__rate_interval", "1m");

describe("the dashboard", () => {
  it("leaves it to its reader where the metrics come from and whose they are", () => {
    assert.deepEqual(
      templating.list.map(({ name }) => name),
      ["datasource", "instance"],
    );
    const source = { type: "prometheus", uid: "${datasource}" };
    for (const { datasource } of [...withQueries, ...targets]) assert.deepEqual(datasource, source);
    for (const { expr } of targets)
      for (const [, matchers = ""] of expr.matchAll(/\{([^}]*)\}/g))
        assert.match(matchers, /instance=~"\$instance"/, expr);
  });

  it("asks what Prometheus understands, in every panel", async () => {
    for (const { title, targets = [] } of withQueries) assert.ok(targets.length > 0, title);
    const rules = targets.map(({ expr }, index) => ({ record: `panel:${index}`, expr: asked(expr) }));
    const folder = mkdtempSync(join(tmpdir(), "topicsync-dashboard-"));
    try {
      writeFileSync(join(folder, "queries.yml"), JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
      await promtool(folder, "check", "rules", "queries.yml");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("asks only for series that GET /metrics has", async () => {
    const series = await exposedSeries();
    assert.deepEqual(
      targets.flatMap(({ expr }) => selectorsWithoutSeries(asked(expr), series)),
      [],
    );
  });

  it("has its panels side by side, none twice", () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const cells = panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
      assert.ok(x + w <= 24, title);
      return Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`);
    });
    assert.equal(new Set(cells).size, cells.length);
  });
});
