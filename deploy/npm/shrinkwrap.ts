/**
 * `prepack`: writes npm-shrinkwrap.json, package-lock.json without what only development needs, so that the
 * published package installs the dependencies that were tested. `postpack` removes it again: in a checkout,
 * npm would use it instead of package-lock.json.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "topicsync-shrinkwrap-"));
try {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, unknown>;
  const published = { ...manifest, devDependencies: undefined, scripts: undefined, workspaces: undefined };
  writeFileSync(join(folder, "package.json"), JSON.stringify(published));
  for (const file of ["package-lock.json", ".npmrc"]) copyFileSync(join(root, file), join(folder, file));
  execFileSync(
    "npm",
    ["install", "--package-lock-only", "--ignore-scripts", "--offline", "--loglevel=error"],
    {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  copyFileSync(join(folder, "package-lock.json"), join(root, "npm-shrinkwrap.json"));
} finally {
  rmSync(folder, { recursive: true });
}
