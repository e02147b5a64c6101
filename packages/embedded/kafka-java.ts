import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { getLastLines, runCommand } from "./command.ts";
import { buildClassPath, installKafka } from "./kafka-jars.ts";
import type { LaunchOptions } from "./stack.ts";
import { findJava } from "./toolchain.ts";

/** What is needed to run a class of Kafka. */
export interface KafkaJava {
  readonly command: string;
  readonly classPath: string;
  /** The path of this Java's archive of Kafka's classes, which may not exist yet. */
  readonly archive: string;
}

/** Finds Java, and downloads Kafka's jars unless they exist. */
export async function prepareKafkaJava(
  options: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<KafkaJava> {
  const { command, version } = await findJava();
  const jars = await installKafka(options);
  return { command, classPath: await buildClassPath(jars), archive: join(jars, `classes-${version}.jsa`) };
}

/** Returns Java's arguments that run a class of Kafka; those of the class follow them. */
export function buildJavaArgs(java: KafkaJava, mainClass: string, flags: readonly string[]): string[] {
  return ["-Djava.awt.headless=true", ...flags, "-cp", java.classPath, mainClass];
}

interface ClassArchive {
  readonly flags: readonly string[];
  /** Keeps the archive, if one was written. Called after the exit. */
  keep(): Promise<void>;
  /** Deletes the archive of a broker that failed to start, which would lack most classes. */
  discard(): Promise<void>;
}

/**
 * Half of a broker's start is loading classes. Java writes them to an archive at its first exit (2 s, 50 MB),
 * with which every later start is twice as fast.
 */
export function prepareClassArchive({ archive }: KafkaJava): ClassArchive {
  const nothing = (): Promise<void> => Promise.resolve();
  if (existsSync(archive)) return { flags: toArchiveFlags(archive), keep: nothing, discard: nothing };
  const temporary = `${archive}.${process.pid}-${randomBytes(4).toString("hex")}`;
  return {
    // Not every Java supports the flag. Writing the archive logs a warning per class that cannot be in it,
    // after what Kafka itself logged last.
    flags: ["-XX:+IgnoreUnrecognizedVMOptions", `-XX:ArchiveClassesAtExit=${temporary}`, "-Xlog:all=error"],
    // There is no archive if the broker was killed or could not write it; the next one tries again.
    keep: () => rename(temporary, archive).catch(() => undefined),
    discard: () => rm(temporary, { force: true }),
  };
}

const toArchiveFlags = (archive: string): string[] => [
  "-XX:+IgnoreUnrecognizedVMOptions",
  `-XX:SharedArchiveFile=${archive}`,
];

interface ClassRun {
  readonly mainClass: string;
  readonly args: readonly string[];
  /** Options of Java itself. */
  readonly flags?: readonly string[];
  readonly input?: Uint8Array;
}

/** Runs a short-lived class and returns its standard output. Throws on a non-zero exit code. */
export async function runClass(
  java: KafkaJava,
  { mainClass, args, flags = [], input }: ClassRun,
): Promise<string> {
  const all = [
    "-Xmx256m",
    // It exits before the optimizing compiler would pay off.
    "-XX:TieredStopAtLevel=1",
    ...(existsSync(java.archive) ? toArchiveFlags(java.archive) : []),
    ...flags,
  ];
  const command = [...buildJavaArgs(java, mainClass, all), ...args];
  const { code, stdout, stderr } = await runCommand(
    java.command,
    command,
    input === undefined ? {} : { input },
  );
  if (code === 0) return stdout;
  throw new Error(`${mainClass} exited with code ${code}: ${getLastLines(stdout + stderr, 20)}`);
}
