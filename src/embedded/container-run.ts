import { once } from "node:events";
import { setTimeout } from "node:timers/promises";

import type { ContainerRuntimeClient, StartedTestContainer } from "testcontainers";

import { getErrorMessage } from "../lib/errors.ts";
import { createVolume, dataName, ownerLabels, removeContainer, removeLeftover } from "./container-data.ts";
import { containerEngine, ignoringGone, pullImage } from "./container-engine.ts";
import { freePort } from "./tcp-port.ts";
import type { LaunchOptions } from "./stack.ts";

/** What to run, and how to tell that it is ready. */
export interface ContainerSpec {
  /** `kafka` or `mongo`: the first part of the container's and the volume's name. */
  readonly kind: string;
  readonly image: string;
  /** The port that the server listens on inside the container. */
  readonly port: number;
  /** The folder inside the container that has the data. */
  readonly dataPath: string;
  readonly command?: readonly string[];
  /** The server's environment, given the address under which its clients will reach it. */
  readonly environment?: (host: string, port: number) => Record<string, string>;
  /** A line of the server's output that says that it serves; without it, an open port says so. */
  readonly readyLine?: RegExp;
}

export interface RunningContainer {
  readonly host: string;
  readonly port: number;
  readonly container: StartedTestContainer;
  readonly stop: () => Promise<void>;
  readonly ended: Promise<string>;
}

const startTimeout = 120_000;
const stopTimeout = 30_000;
const keptLines = 30;

/**
 * Runs a container with the data of options.dataFolder on a port of 127.0.0.1 (of every interface where the engine is
 * another machine: only there is it needed). Throws an Error with the server's last output when it does not come up.
 */
export async function runContainer(spec: ContainerSpec, options: LaunchOptions): Promise<RunningContainer> {
  await pullImage(spec.image, options.report);
  const client = await containerEngine();
  const docker = client.container.dockerode;
  const name = dataName(spec.kind, options.dataFolder);
  await removeLeftover(docker, name);
  await createVolume(docker, name, options.dataFolder);

  options.report(`starting ${spec.image}`);
  const port = options.port ?? (await freePort());
  const launch: Launch = { client, name, port, output: [] };
  try {
    return await start(spec, launch);
  } catch (error) {
    // By its id: another process may have been faster, and the name is then of its container.
    const words = launch.id === undefined ? [] : await lastWords(launch.id, launch);
    if (launch.id !== undefined) await removeContainer(docker, launch.id);
    const tail = words.length > 0 ? `. Its last output:\n${words.join("\n")}` : "";
    throw new Error(`${spec.image} did not come up: ${getErrorMessage(error)}${tail}`, { cause: error });
  }
}

interface Launch {
  readonly client: ContainerRuntimeClient;
  readonly name: string;
  readonly port: number;
  /** The container's id, as soon as there is one. */
  id?: string;
  /** The last lines that the server printed. */
  readonly output: string[];
}

async function start(spec: ContainerSpec, launch: Launch): Promise<RunningContainer> {
  const { client, name, port, output } = launch;
  const { GenericContainer, Wait } = await import("testcontainers");
  const runtimeHost = client.info.containerRuntime.host;
  const onThisMachine = runtimeHost === "localhost";
  const host = onThisMachine ? "127.0.0.1" : runtimeHost;
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();

  // Testcontainers offers no other way to bind a port to one interface than its protected members, and a broker and a
  // store without passwords are nobody's business but this machine's.
  class LocalContainer extends GenericContainer {
    protected override beforeContainerCreated(): Promise<void> {
      const HostIp = onThisMachine ? host : "";
      this.hostConfig.PortBindings = { [`${spec.port}/tcp`]: [{ HostIp, HostPort: String(port) }] };
      return Promise.resolve();
    }

    protected override containerCreated(id: string): Promise<void> {
      launch.id = id;
      // "next-exit", since a container that was only created counts as not running already.
      client.container.dockerode
        .getContainer(id)
        .wait({ condition: "next-exit" })
        .then(
          ({ StatusCode: code }: { StatusCode: number }) => `exited with code ${code}`,
          (error: unknown) => `is out of sight: ${getErrorMessage(error)}`,
        )
        .then(end, end);
      return Promise.resolve();
    }
  }

  const starting = new LocalContainer(spec.image)
    .withName(name)
    .withLabels(ownerLabels())
    // No reaper: it is one more image to pull, with the engine's socket in it. A container whose owner was killed is
    // found by its name at the next start.
    .withAutoCleanup(false)
    .withExposedPorts({ container: spec.port, host: port })
    .withEnvironment(spec.environment?.(host, port) ?? {})
    .withCommand([...(spec.command ?? [])])
    .withBindMounts([{ source: name, target: spec.dataPath }])
    .withLogConsumer((stream) => stream.on("data", keepLast(output)))
    .withWaitStrategy(
      spec.readyLine === undefined ? Wait.forListeningPorts() : Wait.forLogMessage(spec.readyLine),
    )
    .withStartupTimeout(startTimeout)
    .start();
  // A server that gives up at once need not be waited for until the timeout.
  const early = ended.then((reason) => Promise.reject(new Error(`it ${reason}`)));
  const container = await Promise.race([starting, early]);

  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    // Testcontainers' own default is to kill at once; both servers are quicker up again after an orderly end.
    await ignoringGone(container.stop({ timeout: stopTimeout }));
    await ended;
  };
  return { host, port, container, ended, stop: () => (stopping ??= stop()) };
}

function keepLast(output: string[]): (chunk: string | Buffer) => void {
  return (chunk) => {
    output.push(
      ...chunk
        .toString()
        .split("\n")
        .filter((line) => line.trim() !== ""),
    );
    output.splice(0, output.length - keptLines);
  };
}

/**
 * What the server printed last. A container that ended within moments may not have been listened to yet: it is asked once
 * more. One that Testcontainers has removed already has only left what was heard of it.
 */
async function lastWords(id: string, { client, output: heard }: Launch): Promise<readonly string[]> {
  const words: string[] = [];
  const stream = await client.container.logs(client.container.getById(id), { tail: keptLines });
  stream.on("data", keepLast(words));
  await Promise.race([once(stream, "end"), setTimeout(1_000)]).catch(() => undefined);
  stream.destroy();
  return words.length > 0 ? words : heard;
}
