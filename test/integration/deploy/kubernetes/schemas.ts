import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { Ajv2020 } from "ajv/dist/2020.js";

import { getLastLines, runCommand, installOnce, findPython } from "@topicsync/embedded";
import { toolsFolder } from "../../../support/local.ts";
import type { Manifest } from "../helm/render.ts";

/** A PyPI package with Kubernetes' schemas for many versions; the strict ones reject unknown members. */
const version = "1.37.0";
/** The oldest supported version, and the newest. */
export const kubernetesVersions = ["1.30.0", "1.37.0"] as const;

// These contain everything that is needed of the package's 17,000 files.
const unpack = `import glob, os, sys, zipfile
folder, *versions = sys.argv[1:]
with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as wheel:
    for version in versions:
        name = f"kubernetes_validate/kubernetes-json-schema/v{version}-local-strict/_definitions.json"
        with open(f"{folder}/{version}.json", "wb") as file: file.write(wheel.read(name))
os.remove(wheel.filename)`;

interface Definitions {
  readonly $id: string;
  readonly $defs: Readonly<Record<string, { readonly "x-kubernetes-group-version-kind"?: readonly Kind[] }>>;
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Creates a function that returns the faults of a manifest in a version of Kubernetes. */
export async function createManifestCheck(
  release: (typeof kubernetesVersions)[number],
): Promise<(manifest: Manifest) => string[]> {
  const text = await readFile(join(await installSchemas(), `${release}.json`), "utf8");
  const definitions = JSON.parse(text) as Definitions;
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(definitions);
  const names = new Map<string, string>();
  for (const [name, { "x-kubernetes-group-version-kind": kinds = [] }] of Object.entries(definitions.$defs))
    for (const { group, version: of, kind } of kinds)
      names.set(`${group === "" ? of : `${group}/${of}`} ${kind}`, name);
  return (manifest) => {
    const name = names.get(`${manifest.apiVersion} ${manifest.kind}`);
    const validate = name === undefined ? undefined : ajv.getSchema(`${definitions.$id}#/$defs/${name}`);
    if (validate === undefined)
      return [`Kubernetes ${release} has no ${manifest.apiVersion} ${manifest.kind}`];
    void validate(manifest);
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message ?? ""} ${JSON.stringify(params)}`,
    );
  };
}

/** Returns the folder with the schemas, which are downloaded once. */
async function installSchemas(): Promise<string> {
  const folder = join(toolsFolder, `kubernetes-schemas-${version}-${kubernetesVersions.join("-")}`);
  await installOnce(folder, async (temporary) => {
    const python = await findPython();
    const download = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"];
    const wheel = ["--dest", temporary, `kubernetes-validate==${version}`];
    for (const args of [
      [...download, ...wheel],
      ["-c", unpack, temporary, ...kubernetesVersions],
    ]) {
      const { code, stderr } = await runCommand(python.command, args);
      if (code !== 0)
        throw new Error(`The Kubernetes schemas could not be downloaded:\n${getLastLines(stderr, 5)}`);
    }
  });
  return folder;
}
