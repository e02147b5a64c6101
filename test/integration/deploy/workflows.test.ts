/**
 * The workflows can publish, so GitHub's hardening guide applies: it asks for actions by their full commit
 * SHA.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { parse } from "yaml";

interface Job {
  readonly uses?: string;
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Readonly<Record<string, unknown>>;
  }[];
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const readText = (file: string): string => readFileSync(`${root}${file}`, "utf8");
const readJobs = (file: string): Readonly<Record<string, Job>> =>
  (parse(readText(file)) as { jobs: Record<string, Job> }).jobs;
const workflows = globSync(".github/workflows/*.yml", { cwd: root });

describe("the workflows", () => {
  it("use every action by its commit, with the version in a comment", () => {
    const used = workflows.flatMap((file) =>
      [...readText(file).matchAll(/\buses: (.+)$/gm)].map(([, use]) => use),
    );
    const actions = used.filter((use) => use?.startsWith("./") === false);
    assert.ok(actions.length >= 9, `${actions.length} actions were found`);
    for (const action of actions)
      assert.match(action ?? "", /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it("run no install script of a dependency except that of Node", () => {
    const commands = [...workflows, ".ci/run"].flatMap(
      (file) => readText(file).match(/\bnpm (?:ci|install|rebuild)\b.*/g) ?? [],
    );
    const installing = commands.filter((command) => !/^npm ci"/.test(command));
    assert.deepEqual(new Set(installing), new Set(["npm ci --ignore-scripts", "npm rebuild node"]));
  });

  it("install only packages that have a digest in the lockfile", () => {
    const { packages } = JSON.parse(readText("package-lock.json")) as {
      packages: Record<string, { integrity?: string; link?: boolean }>;
    };
    const own = /^(?:|console|packages\/\w+)$/;
    const without = Object.entries(packages).filter(
      ([name, { integrity = "", link = false }]) =>
        !own.test(name) && !link && !integrity.startsWith("sha512-"),
    );
    assert.deepEqual(without, []);
  });

  it("publish with provenance and an SBOM", () => {
    const { package: npm, image } = readJobs(".github/workflows/release.yml");
    // npm adds the provenance itself for trusted publishers.
    assert.equal(npm?.permissions?.["id-token"], "write");
    const built = image?.steps?.find(({ uses = "" }) => uses.startsWith("docker/build-push-action@"));
    assert.deepEqual([built?.with?.["provenance"], built?.with?.["sbom"]], ["mode=max", true]);
  });

  it("run no code of a dependency in the job that can publish to npm", () => {
    const { steps = [] } = readJobs(".github/workflows/release.yml")["package"] ?? {};
    assert.deepEqual(
      steps.flatMap(({ run }) => run ?? []),
      ["npm publish --ignore-scripts --access public ./topicsync-*.tgz"],
    );
    assert.ok(!steps.some(({ uses }) => uses?.startsWith("actions/checkout@")));
  });

  it("keep actions, packages and base images up to date", () => {
    const { updates } = parse(readText(".github/dependabot.yml")) as {
      updates: readonly Readonly<Record<string, unknown>>[];
    };
    assert.deepEqual(
      updates.map((update) => update["package-ecosystem"]),
      ["github-actions", "npm", "docker"],
    );
  });

  it("publish nothing before every check has passed", () => {
    const jobs = readJobs(".github/workflows/release.yml");
    assert.equal(jobs["check"]?.uses, "./.github/workflows/ci.yml");
    const isAfterCheck = (name: string | undefined): boolean =>
      name === "check" || (name !== undefined && isAfterCheck(jobs[name]?.needs));
    const publishing = Object.entries(jobs).filter(([, { permissions = {} }]) =>
      Object.values(permissions).includes("write"),
    );
    assert.deepEqual(
      publishing.map(([name]) => name),
      ["package", "image", "chart"],
    );
    for (const [name] of publishing) assert.ok(isAfterCheck(name), name);
  });
});
