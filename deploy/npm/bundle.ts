/**
 * Bundles the program and the published library into `dist`: `npm run build`. What is imported by a command or
 * on demand stays in files of its own. Dependencies are not bundled: the package installs them.
 */
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The names of the packages that the published one installs, or that its users may install. */
export function readDependencies(): string[] {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly dependencies: object;
    readonly peerDependencies: object;
  };
  return Object.keys({ ...dependencies, ...peerDependencies });
}

if (import.meta.main) {
  const target = join(root, "dist");
  rmSync(target, { recursive: true, force: true });
  await build({
    absWorkingDir: root,
    entryPoints: {
      cli: "deploy/npm/cli.ts",
      "impact-worker": "src/service/impact/impact-worker.ts",
      picker: "packages/filters/picker/index.ts",
    },
    outdir: "dist",
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node22",
    external: readDependencies(),
    sourcemap: true,
    sourcesContent: false,
    logLevel: "warning",
  });
  for (const file of ["kafka.sha256", "secantusdb.txt"])
    copyFileSync(join(root, "packages/embedded", file), join(target, file));
}
