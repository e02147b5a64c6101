import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { expandQuery, panels, queries, templating, withQueries } from "./dashboard.ts";
import { collectSeries, findUnmatchedSelectors } from "./exposition.ts";

describe("the dashboard", () => {
  it("has variables for the data source and the instances", () => {
    assert.deepEqual(
      templating.list.map(({ name }) => name),
      ["datasource", "instance"],
    );
    const source = { type: "prometheus", uid: "${datasource}" };
    for (const { datasource } of [...withQueries, ...queries]) assert.deepEqual(datasource, source);
    for (const { expr } of queries)
      for (const [, matchers = ""] of expr.matchAll(/\{([^}]*)\}/g))
        assert.match(matchers, /instance=~"\$instance"/, expr);
  });

  it("has a query in every panel", () => {
    for (const { title, targets = [] } of withQueries) assert.ok(targets.length > 0, title);
  });

  it("queries only series that GET /metrics returns", async () => {
    const series = await collectSeries();
    assert.deepEqual(
      queries.flatMap(({ expr }) => findUnmatchedSelectors(expandQuery(expr), series)),
      [],
    );
  });

  it("has panels that do not overlap, with unique ids", () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const cells = panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
      assert.ok(x + w <= 24, title);
      return Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`);
    });
    assert.equal(new Set(cells).size, cells.length);
  });
});
