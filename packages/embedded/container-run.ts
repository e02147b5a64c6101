import { once } from "node:events";
import { setTimeout } from "node:timers/promises";

import type { ContainerRuntimeClient } from "testcontainers";

import { getErrorMessage } from "@topicsync/lib/errors";
import {
  createVolume,
  toDataName,
  createOwnerLabels,
  removeContainer,
  removeLeftover,
} from "./container-data.ts";
import { connectEngine, ignoreNotFound, pullImage } from "./container-engine.ts";
import { findFreePort } from "./tcp-port.ts";
import type { LaunchOptions, Running } from "./stack.ts";

/** A container to run, and how to detect that it is ready. */
export interface ContainerSpec {
  /** `kafka` or `mongo`; part of the name of the container and volume. */
  readonly kind: string;
  readonly image: string;
  /** The server's port inside the container. */
  readonly port: number;
  /** The data folder inside the container. */
  readonly dataPath: string;
  readonly command?: readonly string[];
  /** Returns the server's environment, given the address that clients will use. */
  readonly environment?: (host: string, port: number) => Record<string, string>;
  /**
   * Matches the line of output that marks the server as ready; by default it is ready once its port is open.
   */
  readonly readyLine?: RegExp;
}

interface RunningContainer extends Pick<Running, "stop" | "ended"> {
  readonly host: string;
  readonly port: number;
}

const startTimeoutMs = 120_000;
const stopTimeoutMs = 30_000;
const maxLines = 30;

/**
 * Runs a container with the data of options.dataFolder on a port of 127.0.0.1, or of every interface if the
 * engine is on another machine. Throws an Error with the server's last output if it does not start.
 */
export async function runContainer(spec: ContainerSpec, options: LaunchOptions): Promise<RunningContainer> {
  await pullImage(spec.image, options.report);
  const client = await connectEngine();
  const docker = client.container.dockerode;
  const name = toDataName(spec.kind, options.dataFolder);
  await removeLeftover(docker, name);
  await createVolume(docker, name, options.dataFolder);

  options.report(`starting ${spec.image}`);
  const port = options.port ?? (await findFreePort());
  const launch: Launch = { client, name, port, output: [] };
  try {
    return await start(spec, launch);
  } catch (error) {
    // By id: the name may belong to the container of a concurrent process.
    const lines = launch.id === undefined ? [] : await readLastLines(launch.id, launch);
    if (launch.id !== undefined) await removeContainer(docker, launch.id);
    const tail = lines.length > 0 ? `. Its last output:\n${lines.join("\n")}` : "";
    throw new Error(`${spec.image} did not start: ${getErrorMessage(error)}${tail}`, { cause: error });
  }
}

interface Launch {
  readonly client: ContainerRuntimeClient;
  readonly name: string;
  readonly port: number;
  /** The container's id, set on creation. */
  id?: string;
  /** The last lines of the server's output. */
  readonly output: string[];
}

async function start(spec: ContainerSpec, launch: Launch): Promise<RunningContainer> {
  const { client, name, port, output } = launch;
  const { GenericContainer, Wait } = await import("testcontainers");
  const runtimeHost = client.info.containerRuntime.host;
  const onThisMachine = runtimeHost === "localhost";
  const host = onThisMachine ? "127.0.0.1" : runtimeHost;
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();

  // Broker and store have no passwords, so only this machine may reach them. In Testcontainers, only these
  // protected members can bind a port to one interface.
  class LocalContainer extends GenericContainer {
    protected override beforeContainerCreated(): Promise<void> {
      const HostIp = onThisMachine ? host : "";
      this.hostConfig.PortBindings = { [`${spec.port}/tcp`]: [{ HostIp, HostPort: String(port) }] };
      return Promise.resolve();
    }

    protected override containerCreated(id: string): Promise<void> {
      launch.id = id;
      // Not "not-running": a container that was created but not started counts as such.
      client.container.dockerode
        .getContainer(id)
        .wait({ condition: "next-exit" })
        .then(
          ({ StatusCode: code }: { StatusCode: number }) => `exited with code ${code}`,
          (error: unknown) => `could not be watched any longer: ${getErrorMessage(error)}`,
        )
        .then(end, end);
      return Promise.resolve();
    }
  }

  const starting = new LocalContainer(spec.image)
    .withName(name)
    .withLabels(createOwnerLabels())
    // No reaper: it would need another image and access to the engine's socket. removeLeftover finds the
    // container of a killed process by name at the next start.
    .withAutoCleanup(false)
    .withExposedPorts({ container: spec.port, host: port })
    .withEnvironment(spec.environment?.(host, port) ?? {})
    .withCommand([...(spec.command ?? [])])
    .withBindMounts([{ source: name, target: spec.dataPath }])
    .withLogConsumer((stream) => stream.on("data", collectLines(output)))
    .withWaitStrategy(
      spec.readyLine === undefined ? Wait.forListeningPorts() : Wait.forLogMessage(spec.readyLine),
    )
    .withStartupTimeout(startTimeoutMs)
    .start();
  // If the server exits early, fail without waiting for the timeout.
  const early = ended.then((reason) => Promise.reject(new Error(`it ${reason}`)));
  const container = await Promise.race([starting, early]);

  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    // By default, Testcontainers kills immediately; after a clean shutdown both servers restart faster.
    await ignoreNotFound(container.stop({ timeout: stopTimeoutMs }));
    await ended;
  };
  return { host, port, ended, stop: () => (stopping ??= stop()) };
}

function collectLines(output: string[]): (chunk: string | Buffer) => void {
  return (chunk) => {
    output.push(
      ...chunk
        .toString()
        .split("\n")
        .filter((line) => line.trim() !== ""),
    );
    output.splice(0, output.length - maxLines);
  };
}

/**
 * Returns the server's last output. The log consumer may have missed the output of a container that exited
 * immediately, so the log is read again; if Testcontainers has removed the container, only the consumer's
 * lines are left.
 */
async function readLastLines(id: string, { client, output }: Launch): Promise<readonly string[]> {
  const lines: string[] = [];
  const stream = await client.container.logs(client.container.getById(id), { tail: maxLines });
  stream.on("data", collectLines(lines));
  await Promise.race([once(stream, "end"), setTimeout(1_000)]).catch(() => undefined);
  stream.destroy();
  return lines.length > 0 ? lines : output;
}
