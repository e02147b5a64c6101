import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { parseAllDocuments, stringify } from "yaml";

import { getLastLines, runCommand, findJava } from "@topicsync/embedded";
import { installJars } from "../../../../bench/support/maven.ts";
import { toolsFolder } from "../../../support/local.ts";

/** Helm 3.21 as a Java library: building its own program takes minutes. */
const version = "0.0.21";
export const chartFolder = fileURLToPath(new URL("../../../../deploy/helm/topicsync", import.meta.url));

/** A Kubernetes manifest. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- its shape depends on the kind; wrong guesses fail
  readonly spec: any;
  /** Only in a ConfigMap. */
  readonly data?: Readonly<Record<string, string>>;
  /** Only in a Secret. */
  readonly stringData?: Readonly<Record<string, string>>;
}

/** The manifests, or the reason why Helm rejected the values. */
export interface Rendered {
  readonly manifests: readonly Manifest[];
  readonly rejection: string;
}

export interface RenderedChart {
  /** The output of the strict linter; empty if it found nothing. */
  readonly complaints: string;
  /** Results by the name of the values. */
  readonly rendered: ReadonlyMap<string, Rendered>;
}

/**
 * Lints the chart of this owner and renders it with each of the values, as release `events` in the namespace
 * `messaging`.
 */
export async function renderChart(
  values: Readonly<Record<string, object>>,
  owner: string,
): Promise<RenderedChart> {
  const folder = await mkdtemp(join(tmpdir(), "topicsync-helm-"));
  const ownChart = await mkdtemp(join(tmpdir(), "topicsync-chart-"));
  try {
    await cp(chartFolder, ownChart, { recursive: true });
    const file = join(ownChart, "Chart.yaml");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replaceAll(/(?<=https:\/\/github\.com\/)[\w-]+/g, owner));
    for (const [name, some] of Object.entries(values))
      await writeFile(join(folder, `${name}.yaml`), stringify(some));
    await runHelm(ownChart, folder);
    const files = await readdir(folder);
    const read = async (name: string): Promise<string> =>
      files.includes(name) ? readFile(join(folder, name), "utf8") : "";
    const rendered = new Map<string, Rendered>();
    for (const name of Object.keys(values))
      rendered.set(name, {
        manifests: parseManifests(await read(`${name}.rendered`)),
        rejection: await read(`${name}.rejected`),
      });
    return { complaints: await read("lint.failed"), rendered };
  } finally {
    for (const made of [folder, ownChart]) await rm(made, { recursive: true, force: true });
  }
}

async function runHelm(ownChart: string, folder: string): Promise<void> {
  const java = await findJava();
  const project = import.meta.dirname;
  const name = `Helm Java ${version}`;
  const jars = await installJars(
    { name, project, properties: { "helm-java.version": version } },
    { toolsFolder, report: () => undefined },
  );
  const program = ["-cp", join(jars, "*"), join(project, "Render.java"), ownChart, folder];
  const { code, stderr } = await runCommand(java.command, program);
  if (code !== 0) throw new Error(`${name} failed:\n${getLastLines(stderr, 10)}`);
}

function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text, { version: "1.1", uniqueKeys: true }).map((document) => {
    if (document.errors.length > 0) throw new Error(document.errors.join("\n"));
    return document.toJS() as Manifest;
  });
}
