/**
 * Where the project is published. `repository.url` and `version` in package.json are the only places to
 * change; `npm run docs` writes the others.
 */
import { readFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), "utf8");

const { version, repository } = JSON.parse(read("package.json")) as {
  version: string;
  repository: { url: string };
};
/** https://github.com/OWNER/topicsync */
const home = repository.url.replace(/^git\+|\.git$/g, "");
const [, owner = ""] = /^https:\/\/github\.com\/([\w-]+)\/topicsync$/.exec(home) ?? [];
if (owner === "")
  throw new Error(`repository.url in package.json is not a repository "topicsync" of GitHub: ${home}`);

/** Names of GitHub's registry of images are in lower case. */
const registry = `ghcr.io/${owner === "OWNER" ? owner : owner.toLowerCase()}/`;

function replaceEach(text: string, changes: readonly (readonly [RegExp, string])[]): string {
  return changes.reduce((changed, [pattern, by]) => changed.replaceAll(pattern, by), text);
}

const addresses = [
  [/ghcr\.io\/[\w-]+\//g, registry],
  [/https:\/\/github\.com\/[\w-]+\/topicsync\b/g, home],
] as const;

/** The files that name the owner or the version, as they must be, by path. */
export const namedFiles = (): Readonly<Record<string, string>> => ({
  "package.json": replaceEach(read("package.json"), addresses),
  "deploy/helm/topicsync/Chart.yaml": replaceEach(read("deploy/helm/topicsync/Chart.yaml"), [
    ...addresses,
    [/^((?:appV|v)ersion: ).*$/gm, `$1${version}`],
  ]),
  ...Object.fromEntries(
    ["deploy/helm/topicsync/README.md", "docs/deployment.md", "SECURITY.md"].map((file) => [
      file,
      replaceEach(read(file), addresses),
    ]),
  ),
});
