/** `npm run docs`: writes the contracts into this folder. */
import { writeFile } from "node:fs/promises";

import { contracts } from "./contracts.ts";

for (const [name, text] of Object.entries(contracts))
  await writeFile(new URL(name, import.meta.url), await text());
