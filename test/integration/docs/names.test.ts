/** Image, chart and package have the same names and versions, from one place. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { parse } from "yaml";

import { namedFiles } from "../../../docs/names.ts";
import { root } from "./pages.ts";

const read = (file: string): string => readFileSync(join(root, file), "utf8");
const manifest = JSON.parse(read("package.json")) as {
  version: string;
  repository: { url: string };
  homepage: string;
  bugs: string;
};
const [, home = "", owner = ""] =
  /^git\+(https:\/\/github\.com\/([^/]+)\/topicsync)\.git$/.exec(manifest.repository.url) ?? [];

describe("the names of what is published", () => {
  it("follow from the repository in package.json", () => {
    assert.deepEqual([manifest.homepage, manifest.bugs], [`${home}#readme`, `${home}/issues`]);
    for (const [file, text] of Object.entries(namedFiles()))
      assert.equal(read(file), text, `${file}: run \`npm run docs\``);
  });

  it("are those of the chart, with the version of the package", () => {
    const chart = parse(read("deploy/helm/topicsync/Chart.yaml")) as Record<string, unknown>;
    const { home: chartHome, sources, version, appVersion } = chart;
    assert.deepEqual(
      [chartHome, sources, version, appVersion],
      [home, [home], manifest.version, manifest.version],
    );
  });

  it("are those that the release publishes", () => {
    const workflow = read(".github/workflows/release.yml");
    assert.match(workflow, /images: ghcr\.io\/\$\{\{ github\.repository \}\}\n/);
    assert.match(workflow, /"oci:\/\/ghcr\.io\/\$\{GITHUB_REPOSITORY_OWNER,,\}\/charts"/);
    assert.match(workflow, /require\("\.\/package\.json"\)\.repository\.url.*\$GITHUB_REPOSITORY\.git/);
    const guide = read("docs/deployment.md");
    const registry = `ghcr.io/${owner === "OWNER" ? owner : owner.toLowerCase()}`;
    assert.ok(guide.includes(`helm install topicsync oci://${registry}/charts/topicsync`));
    assert.ok(guide.includes(`\`${registry}/topicsync\``));
  });

  it("are in no other file", () => {
    const elsewhere = [
      "README.md",
      "CONTRIBUTING.md",
      "docker-compose.yml",
      "Dockerfile",
      "docs/quick-start.md",
    ];
    for (const file of elsewhere)
      assert.doesNotMatch(read(file), /ghcr\.io|github\.com\/[\w-]+\/topicsync/, file);
  });
});
