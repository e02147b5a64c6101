/** Builds the console into `dist/console`: `npm run build:console`. */
import { buildConsole } from "./bundle.ts";

const sizes = await buildConsole();
for (const { name, bytes, compressed } of sizes)
  process.stdout.write(
    `${name}: ${(bytes / 1_000).toFixed(1)} kB, ${(compressed / 1_000).toFixed(1)} kB compressed\n`,
  );
