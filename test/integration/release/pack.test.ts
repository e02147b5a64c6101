/** The published package, installed from the packed file in an empty folder. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { useFolder } from "../../support/folder.ts";
import { call } from "../../support/http.ts";
import { stage } from "../../support/scene.ts";
import { environment, startTopicsync } from "../../support/service.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const installation = useFolder();
const { path: folder } = installation;
const { scene } = stage();
const own = scene();

const run = promisify(execFile);
const npm = (cwd: string, ...args: string[]) =>
  run("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], { cwd, env: environment({}) });

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}
let packed: Packed;

before(async () => {
  const { stdout } = await npm(root, "pack", "--json", "--pack-destination", folder);
  // The output of scripts comes first.
  [packed] = JSON.parse(stdout.slice(stdout.indexOf("[\n"))) as [Packed];
  installation.createFile("package.json", "{}");
  // Many installations forbid scripts of packages; the package must not need any.
  await npm(folder, "install", "--prefer-offline", "--ignore-scripts", join(folder, packed.filename));
});

describe("the published package", () => {
  it("contains the program, its types and the console, and no sources, tests or tools", () => {
    const paths = packed.files.map(({ path }) => path);
    for (const path of ["package.json", "README.md", "LICENSE", "CHANGELOG.md", "dist/src/cli.js"])
      assert.ok(paths.includes(path), path);
    assert.ok(paths.includes("dist/src/matching/picker/index.d.ts"), "the library's types");
    assert.ok(paths.includes("dist/console/index.html"), "the console");
    const ours = /^(?:dist|examples|deploy)\/|^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
    assert.deepEqual(
      paths.filter((path) => !ours.test(path)),
      [],
    );
    assert.deepEqual(
      paths.filter((path) => /(?:^|\/)(?:test|bench|\.topicsync|\.env)(?:\/|$)/.test(path)),
      [],
    );
  });

  it("has a help page, and exports a library", async () => {
    const { stdout } = await run(join(folder, "node_modules/.bin/topicsync"), ["--help"]);
    assert.match(stdout, /^Usage: topicsync/);
    const script = `import { createPicker } from "topicsync/picker"; process.stdout.write(typeof createPicker);`;
    const imported = await run(process.execPath, ["--input-type=module", "--eval", script], { cwd: folder });
    assert.equal(imported.stdout, "function");
  });

  it("installs nothing that only the embedded stack or the types need, and says how to get it", async () => {
    for (const name of ["testcontainers", "json-schema-to-ts", "typescript"])
      assert.equal(existsSync(join(folder, "node_modules", name)), false, name);
    const started = run(join(folder, "node_modules/.bin/topicsync"), ["start"], {
      cwd: folder,
      env: environment({ TOPICSYNC_STACK: "containers", HTTP_PORT: "0" }),
    });
    await assert.rejects(started, ({ stdout, stderr }: { stdout: string; stderr: string }) =>
      `${stdout}${stderr}`.includes("npm install testcontainers"),
    );
  });

  it("syncs announcements and serves the console", async () => {
    const cli = join(folder, "node_modules", "topicsync", "dist", "src", "cli.js");
    const service = await startTopicsync(own.settings, cli);
    await service.ready();
    await own.announce(0, 10);
    await own.inStep();
    const { status, text } = await call(`${service.url}/console`, { method: "GET", as: undefined });
    assert.equal(status, 200);
    assert.match(text, /<title>topicsync<\/title>/);
    assert.equal(await service.stop(), 0);
  });
});
