import type { ContainerRuntimeClient } from "testcontainers";

import { getErrorMessage } from "../lib/errors.ts";
import { withTimeout } from "../lib/timeout.ts";
import type { Report } from "./stack.ts";

/** The engine (Docker, Podman, …) that Testcontainers finds, by DOCKER_HOST or at its usual sockets. Throws when none answers. */
export async function containerEngine(): Promise<ContainerRuntimeClient> {
  // Loaded here and not at the top: it is heavy, and a service with a broker and a store of its own never needs it.
  const { getContainerRuntimeClient } = await import("testcontainers");
  return getContainerRuntimeClient();
}

/** Docker's own client, as far as Testcontainers hands it out. */
export type Docker = ContainerRuntimeClient["container"]["dockerode"];

/**
 * Why a container of `image` cannot be had here, in words that say how to mend it; undefined when it can: an engine
 * answers, and has the image or sees it in its registry (which is asked for the image's digest only, not for the image).
 * `setting` is the variable by which a person names another image.
 */
export async function missingImage(image: string, setting: string): Promise<string | undefined> {
  let docker: Docker;
  try {
    docker = (await withTimeout(5_000, containerEngine())).container.dockerode;
  } catch (error) {
    return `no container engine answers (${getErrorMessage(error)}); start one, or point DOCKER_HOST at one`;
  }
  if (await isPresent(docker, image)) return undefined;
  try {
    await withTimeout(15_000, docker.getImage(image).distribution());
    return undefined;
  } catch (error) {
    return (
      `the image ${image} is not on this machine and its registry does not offer it (${getErrorMessage(error)}); ` +
      `run "docker pull ${image}", or name one that is there by ${setting}`
    );
  }
}

/** Makes the image present, telling how much of it has come. Throws an Error that names the image when it cannot be had. */
export async function pullImage(image: string, report: Report): Promise<void> {
  const client = await containerEngine();
  if (await isPresent(client.container.dockerode, image)) return;
  const step = `pulling the image ${image}`;
  report(step, 0);
  try {
    await pullAnonymously(client.container.dockerode, image, (share) => {
      report(step, share);
    });
  } catch (error) {
    // A private registry: Testcontainers knows how to find its credentials, but not how to tell how far it is.
    const { ImageName } = await import("testcontainers");
    await client.image.pull(ImageName.fromString(image)).catch(() => undefined);
    if (!(await isPresent(client.container.dockerode, image))) {
      throw new Error(`the image ${image} could not be pulled: ${getErrorMessage(error)}`, { cause: error });
    }
  }
  report(step, 1);
}

async function isPresent(docker: Docker, image: string): Promise<boolean> {
  return (await ignoringGone(docker.getImage(image).inspect())) !== undefined;
}

interface PullEvent {
  readonly id?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

async function pullAnonymously(
  docker: Docker,
  image: string,
  progress: (share: number) => void,
): Promise<void> {
  const layers = new Map<string, { current: number; total: number }>();
  let reported = 0;
  const stream: NodeJS.ReadableStream = await docker.pull(image);
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(
      stream,
      (error) => {
        if (error) reject(error);
        else resolve();
      },
      ({ id, progressDetail: { current, total } = {} }: PullEvent) => {
        if (id === undefined || current === undefined || total === undefined) return;
        layers.set(id, { current, total });
        const share = sum(layers, "current") / sum(layers, "total");
        // Layers become known one after the other; a share that went back would only puzzle.
        if (share > reported) progress((reported = share));
      },
    );
  });
}

function sum(
  layers: ReadonlyMap<string, { current: number; total: number }>,
  part: "current" | "total",
): number {
  return [...layers.values()].reduce((whole, layer) => whole + layer[part], 0);
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "statusCode" in error && error.statusCode === 404;
}

/** The promise's outcome, or undefined when the engine answers that there is no such thing. */
export async function ignoringGone<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
