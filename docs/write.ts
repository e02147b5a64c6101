/**
 * `npm run docs`: writes the contracts into this folder, the schema of the Helm chart's values into the
 * chart, and the count of mutants into the page of the simulation.
 */
import { writeFile } from "node:fs/promises";

import { mutantPage, writeMutantList } from "../test/simulation/mutants/table.ts";
import { chartValuesSchema } from "./chart-values.ts";
import { contracts, formatJson } from "./contracts.ts";

for (const [name, text] of Object.entries(contracts))
  await writeFile(new URL(name, import.meta.url), await text());
await writeFile(
  new URL("../deploy/helm/topicsync/values.schema.json", import.meta.url),
  await formatJson(chartValuesSchema()),
);
await writeFile(mutantPage, writeMutantList());
