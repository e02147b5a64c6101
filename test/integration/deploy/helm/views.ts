import assert from "node:assert/strict";

import type { good } from "../chart-values.ts";
import type { Manifest, RenderedChart } from "./render.ts";

/** The name of values that the chart accepts. */
export type Good = keyof typeof good;

export interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  // oxlint-disable-next-line typescript/no-explicit-any -- a wrong guess fails the test
  readonly [member: string]: any;
}

export interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  // oxlint-disable-next-line typescript/no-explicit-any -- a wrong guess fails the test
  readonly spec: any;
}

export interface Volume {
  readonly name: string;
  readonly projected?: { readonly defaultMode: number; readonly sources: object[] };
  readonly secret?: { readonly defaultMode: number };
}

/** Finds parts of the manifests by the name of the values that they were rendered with. */
export function viewChart({ rendered }: RenderedChart) {
  function getManifests(name: Good): readonly Manifest[] {
    const found = rendered.get(name);
    assert.ok(found !== undefined);
    assert.equal(found.rejection, "", name);
    return found.manifests;
  }

  /** Of the Services, the one of the API comes first. */
  const getServices = (name: Good): Manifest[] => getManifests(name).filter(({ kind }) => kind === "Service");

  function getManifest(name: Good, kind: string): Manifest {
    const [found, ...others] = getManifests(name).filter((manifest) => manifest.kind === kind);
    assert.ok(found !== undefined && (others.length === 0 || kind === "Service"), `${kind} of ${name}`);
    return found;
  }

  const getPod = (name: Good): Pod => getManifest(name, "Deployment").spec.template as Pod;
  const getContainer = (name: Good): Container => getPod(name).spec.containers[0] as Container;
  const getEnvironment = (name: Good): Record<string, string> =>
    Object.fromEntries(getContainer(name).env.map(({ name, value }) => [name, value]));
  const getVolumes = (name: Good): Volume[] => getPod(name).spec.volumes as Volume[];
  return { getManifests, getServices, getManifest, getPod, getContainer, getEnvironment, getVolumes };
}

type Labels = Readonly<Record<string, string>>;

export const matches = (labels: Labels, selector: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);
