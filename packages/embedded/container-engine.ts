import type { ContainerRuntimeClient } from "testcontainers";

import { getErrorMessage } from "@topicsync/lib/errors";
import { withTimeout } from "@topicsync/lib/concurrency/timeout";
import type { Report } from "./stack.ts";

/** Without Testcontainers no container can be run. */
class NotInstalledError extends Error {
  override readonly name = "NotInstalledError";
}

/**
 * Loads Testcontainers on first use. Throws a NotInstalledError: a checkout has it, but the published package
 * leaves it to those who want the embedded broker and store in containers.
 */
async function loadTestcontainers() {
  try {
    return await import("testcontainers");
  } catch (error) {
    throw new NotInstalledError(
      'the package "testcontainers" is not installed; install it with "npm install testcontainers"',
      { cause: error },
    );
  }
}

/** Connects to the engine (Docker, Podman, …) at DOCKER_HOST or a default socket. Throws if none responds. */
export async function connectEngine(): Promise<ContainerRuntimeClient> {
  const { getContainerRuntimeClient } = await loadTestcontainers();
  return getContainerRuntimeClient();
}

/** The Docker client inside Testcontainers. */
export type Docker = ContainerRuntimeClient["container"]["dockerode"];

/**
 * Returns why no container of `image` can be run, and how to fix it; undefined if an engine responds that has
 * the image or finds it in its registry. Requests only the digest from the registry. `setting` names the
 * variable of the image.
 */
export async function checkImage(image: string, setting: string): Promise<string | undefined> {
  let docker: Docker;
  try {
    docker = (await withTimeout(5_000, connectEngine())).container.dockerode;
  } catch (error) {
    if (error instanceof NotInstalledError) return error.message;
    return `no container engine responds (${getErrorMessage(error)}); start one, or set DOCKER_HOST`;
  }
  if (await isPresent(docker, image)) return undefined;
  try {
    await withTimeout(15_000, docker.getImage(image).distribution());
    return undefined;
  } catch (error) {
    return (
      `the image ${image} is neither on this machine nor available in its registry (${getErrorMessage(error)}); ` +
      `run "docker pull ${image}", or set ${setting} to another image`
    );
  }
}

/** Pulls the image unless it is present, and reports the progress. Throws an Error that names the image. */
export async function pullImage(image: string, report: Report): Promise<void> {
  const client = await connectEngine();
  if (await isPresent(client.container.dockerode, image)) return;
  const step = `pulling the image ${image}`;
  report(step, 0);
  try {
    await pullAnonymously(client.container.dockerode, image, (share) => {
      report(step, share);
    });
  } catch (error) {
    // For a private registry: Testcontainers finds its credentials, but reports no progress.
    const { ImageName } = await loadTestcontainers();
    await client.image.pull(ImageName.fromString(image)).catch(() => undefined);
    if (!(await isPresent(client.container.dockerode, image))) {
      throw new Error(`the image ${image} could not be pulled: ${getErrorMessage(error)}`, { cause: error });
    }
  }
  report(step, 1);
}

async function isPresent(docker: Docker, image: string): Promise<boolean> {
  return (await ignoreNotFound(docker.getImage(image).inspect())) !== undefined;
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
        // The total grows as layers are discovered; never report less than before.
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

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "statusCode" in error && error.statusCode === 404;
}

/** Returns the promise's value, or undefined if the engine responds with 404. */
export async function ignoreNotFound<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
