import { createHash } from "node:crypto";

import { containerEngine, ignoringGone, type Docker } from "./container-engine.ts";

const ownerLabel = "topicsync.owner";
const stopSeconds = 30;

/** One name for the container and the volume of a data folder: Docker's names cannot hold a path. */
export function dataName(kind: string, dataFolder: string): string {
  return `topicsync-${kind}-${createHash("sha256").update(dataFolder).digest("hex").slice(0, 16)}`;
}

/** Makes the volume, unless it is there; its label tells a person whose data it has. */
export async function createVolume(docker: Docker, name: string, dataFolder: string): Promise<void> {
  await docker.createVolume({ Name: name, Labels: { "topicsync.data-folder": dataFolder } });
}

/** Removes the volume of a data folder, if there is one. Throws when a container still has it. */
export async function removeData(kind: string, dataFolder: string): Promise<void> {
  const docker = (await containerEngine()).container.dockerode;
  await ignoringGone(docker.getVolume(dataName(kind, dataFolder)).remove());
}

/** The labels by which removeLeftover will know whose container it is. */
export function ownerLabels(): Record<string, string> {
  return { [ownerLabel]: String(process.pid) };
}

/**
 * Removes the container of a process that was killed before it could stop it. Throws when its owner still lives: two
 * servers on one volume would spoil it.
 */
export async function removeLeftover(docker: Docker, name: string): Promise<void> {
  const container = docker.getContainer(name);
  const leftover = await ignoringGone(container.inspect());
  if (leftover === undefined) return;
  const owner = Number(leftover.Config.Labels[ownerLabel]);
  if (leftover.State.Running) {
    if (isAlive(owner)) {
      throw new Error(
        `the container ${name} belongs to process ${owner}, which is still running on the same data folder; ` +
          `stop that process, or run "docker rm --force ${name}" if it is none of topicsync's`,
      );
    }
    await ignoringGone(container.stop({ t: stopSeconds }));
  }
  await removeContainer(docker, name);
}

/** Removes a container, running or not, if it is there, with the volumes that have no name. */
export async function removeContainer(docker: Docker, nameOrId: string): Promise<void> {
  const container = docker.getContainer(nameOrId);
  try {
    await ignoringGone(container.remove({ force: true, v: true }));
  } catch (error) {
    // Testcontainers removes a container that did not come up, maybe at this very moment; its volume is in use until then.
    if (!isConflict(error)) throw error;
    await ignoringGone(container.wait({ condition: "removed" }));
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof Error && "statusCode" in error && error.statusCode === 409;
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
