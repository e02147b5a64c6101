import { join } from "node:path";

import { getErrorMessage } from "@topicsync/lib/errors";
import { isCommandMissing, runCommand, type CommandResult } from "./command.ts";

/** A local process needs a tool that is not on this machine; the message says which and how to install it. */
export class ToolMissingError extends Error {
  override readonly name = "ToolMissingError";
}

/** Returns the message of an error of `find`, or undefined if there is none. */
export async function explainMissing(find: () => Promise<unknown>): Promise<string | undefined> {
  if (process.platform === "win32") return "local processes need a POSIX shell: run topicsync under WSL";
  try {
    await find();
    return undefined;
  } catch (error) {
    return getErrorMessage(error);
  }
}

interface Java {
  readonly command: string;
  /** `17.0.15` */
  readonly version: string;
}

const minJava = 17;

/**
 * Returns the first Java of JAVA_HOME and the PATH that is new enough for Kafka 4. Throws ToolMissingError.
 */
export async function findJava(): Promise<Java> {
  const home = process.env["JAVA_HOME"];
  const candidates = [...(home ? [join(home, "bin", "java")] : []), "java"];
  let tooOld: string | undefined;
  for (const command of candidates) {
    const found = await tryRun(command, ["-version"]);
    const [, version, major, minor] = /version "((\d+)(?:\.(\d+))?[^"]*)"/.exec(found?.stderr ?? "") ?? [];
    if (version === undefined) continue;
    // Until Java 8, versions are 1.x.
    if (Number(major === "1" ? minor : major) >= minJava) return { command, version };
    tooOld = version;
  }
  throw new ToolMissingError(
    tooOld === undefined
      ? `there is no java on the PATH: install a JDK, ${minJava} or newer, and Maven`
      : `java is version ${tooOld}, and Kafka needs ${minJava} or newer: install a newer JDK, or set JAVA_HOME to it`,
  );
}

export interface Python {
  /** The path of the interpreter itself, not of a launcher script. */
  readonly command: string;
  /** The interpreter's binary interface; compiled packages load only in the same one. */
  readonly abi: string;
}

const minPython = [3, 10] as const;
const pythonProbe = `import sys, sysconfig
print(sys.executable, sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag, *sys.version_info[:2], sep="\\n")`;

/** Returns the python3 on the PATH. Throws ToolMissingError. */
export async function findPython(): Promise<Python> {
  const found = await tryRun("python3", ["-c", pythonProbe]);
  const [command, abi, major, minor] = found?.stdout.trim().split("\n") ?? [];
  const min = minPython.join(".");
  if (found?.code !== 0 || command === undefined || abi === undefined)
    throw new ToolMissingError(`there is no python3 on the PATH: install Python ${min} or newer, with pip`);
  if (Number(major) !== minPython[0] || Number(minor) < minPython[1])
    throw new ToolMissingError(
      `python3 is version ${major}.${minor}, and SecantusDB needs ${min} or newer: install it, with pip`,
    );
  return { command, abi };
}

interface Mongod {
  readonly command: string;
  readonly version: string;
}

const minMongod = [4, 2] as const;

/** Returns the mongod on the PATH. Throws ToolMissingError. */
export async function findMongod(): Promise<Mongod> {
  const command = "mongod";
  const found = await tryRun(command, ["--version"]);
  const [, version, major, minor] = /db version v((\d+)\.(\d+)\S*)/.exec(found?.stdout ?? "") ?? [];
  const min = minMongod.join(".");
  if (version === undefined)
    throw new ToolMissingError(`there is no mongod on the PATH: install MongoDB, ${min} or newer`);
  if (Number(major) * 100 + Number(minor) < minMongod[0] * 100 + minMongod[1])
    throw new ToolMissingError(`mongod is version ${version}: install ${min} or newer`);
  return { command, version };
}

async function tryRun(command: string, args: readonly string[]): Promise<CommandResult | undefined> {
  try {
    return await runCommand(command, args);
  } catch (error) {
    if (isCommandMissing(error)) return undefined;
    throw error;
  }
}
