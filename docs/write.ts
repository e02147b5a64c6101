/**
 * `npm run docs`: writes the contracts into this folder, the schema of the Helm chart's values, the alerts
 * and the dashboard into the chart, the owner and the version where they are named, and the count of mutants
 * into the page of the simulation.
 */
import { copyFile, writeFile } from "node:fs/promises";

import { mutantPage, writeMutantCounts } from "../test/simulation/mutants/table.ts";
import { chartValuesSchema } from "./chart-values.ts";
import { chartCopies, chartFolder } from "./chart-copies.ts";
import { contracts, fileSchemas, formatJson } from "./contracts.ts";
import { namedFiles } from "./names.ts";

for (const [name, text] of Object.entries({ ...contracts, ...fileSchemas }))
  await writeFile(new URL(name, import.meta.url), await text());
await writeFile(new URL("values.schema.json", chartFolder), await formatJson(chartValuesSchema()));
for (const [source, copy] of chartCopies) await copyFile(source, copy);
for (const [file, text] of Object.entries(namedFiles()))
  await writeFile(new URL(`../${file}`, import.meta.url), text);
await writeFile(mutantPage, writeMutantCounts());
