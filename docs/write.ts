/** `npm run docs`: writes the contracts into this folder, and the schema of the Helm chart's values into the chart. */
import { writeFile } from "node:fs/promises";

import { chartValuesSchema } from "./chart-values.ts";
import { contracts, formatJson } from "./contracts.ts";

for (const [name, text] of Object.entries(contracts))
  await writeFile(new URL(name, import.meta.url), await text());
await writeFile(
  new URL("../deploy/helm/topicsync/values.schema.json", import.meta.url),
  await formatJson(chartValuesSchema()),
);
