import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { useFolder } from "../../../support/folder.ts";
import { expandQuery, queries } from "../dashboard.ts";
import { runPromtool } from "./promtool.ts";

const rulesFolder = fileURLToPath(new URL("../../../../deploy/prometheus", import.meta.url));
const folder = useFolder();

describe("the alert rules", () => {
  it("are valid for Prometheus", () => runPromtool(rulesFolder, "check", "rules", "alerts.yml"));

  it("pass their unit tests", () => runPromtool(rulesFolder, "test", "rules", "alerts.test.yml"));
});

describe("the queries of the dashboard", () => {
  it("are valid for Prometheus", async () => {
    const rules = queries.map(({ expr }, index) => ({ record: `panel:${index}`, expr: expandQuery(expr) }));
    folder.createFile("queries.yml", JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
    await runPromtool(folder.path, "check", "rules", "queries.yml");
  });
});
