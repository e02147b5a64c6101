import { createHash } from "node:crypto";

import { connectEngine, ignoreNotFound, type Docker } from "./container-engine.ts";
import { isAlive } from "./process.ts";

const ownerLabel = "topicsync.owner";
const stopSeconds = 30;

/**
 * Returns the name of the container and volume of a data folder. It contains a hash, since Docker allows no
 * paths.
 */
export function toDataName(kind: string, dataFolder: string): string {
  return `topicsync-${kind}-${createHash("sha256").update(dataFolder).digest("hex").slice(0, 16)}`;
}

/** Creates the volume unless it exists. A label names the data folder. */
export async function createVolume(docker: Docker, name: string, dataFolder: string): Promise<void> {
  await docker.createVolume({ Name: name, Labels: { "topicsync.data-folder": dataFolder } });
}

/** Removes the volume of a data folder if it exists. Throws if a container uses it. */
export async function removeData(kind: string, dataFolder: string): Promise<void> {
  const docker = (await connectEngine()).container.dockerode;
  await ignoreNotFound(docker.getVolume(toDataName(kind, dataFolder)).remove());
}

/** Returns the labels from which removeLeftover reads the owner of a container. */
export function createOwnerLabels(): Record<string, string> {
  return { [ownerLabel]: String(process.pid) };
}

/**
 * Removes the container of a process that was killed before it could stop it. Throws if the owner is still
 * running, since two servers on one volume would corrupt it.
 */
export async function removeLeftover(docker: Docker, name: string): Promise<void> {
  const container = docker.getContainer(name);
  const leftover = await ignoreNotFound(container.inspect());
  if (leftover === undefined) return;
  const owner = Number(leftover.Config.Labels[ownerLabel]);
  if (leftover.State.Running) {
    if (isAlive(owner)) {
      throw new Error(
        `the container ${name} belongs to process ${owner}, which is still running on the same data folder; ` +
          `stop that process, or run "docker rm --force ${name}" if it is not a topicsync process`,
      );
    }
    await ignoreNotFound(container.stop({ t: stopSeconds }));
  }
  await removeContainer(docker, name);
}

/** Removes a container, even a running one, and its anonymous volumes. Does nothing if it does not exist. */
export async function removeContainer(docker: Docker, nameOrId: string): Promise<void> {
  const container = docker.getContainer(nameOrId);
  try {
    await ignoreNotFound(container.remove({ force: true, v: true }));
  } catch (error) {
    // Testcontainers may be removing a container that failed to start; its volume is in use until then.
    if (!isConflict(error)) throw error;
    await ignoreNotFound(container.wait({ condition: "removed" }));
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof Error && "statusCode" in error && error.statusCode === 409;
}
