import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { lastLines, runCommand } from "./command.ts";
import { classPath, kafkaJars } from "./kafka-jars.ts";
import type { LaunchOptions } from "./stack.ts";
import { findJava } from "./toolchain.ts";

/** What is needed to run one of Kafka's classes. */
export interface KafkaJava {
  readonly command: string;
  readonly classPath: string;
  /** Where this Java's archive of Kafka's classes is, or will be. */
  readonly archive: string;
}

/** Java and Kafka's jars, which are downloaded when they are not there yet. */
export async function kafkaJava(options: Pick<LaunchOptions, "toolsFolder" | "report">): Promise<KafkaJava> {
  const { command, version } = await findJava();
  const jars = await kafkaJars(options);
  return { command, classPath: await classPath(jars), archive: join(jars, `classes-${version}.jsa`) };
}

/** Java's arguments that run one of Kafka's classes; the class's own come after them. */
export function javaArgs(java: KafkaJava, mainClass: string, flags: readonly string[]): string[] {
  return ["-Djava.awt.headless=true", ...flags, "-cp", java.classPath, mainClass];
}

export interface Archiving {
  readonly flags: readonly string[];
  /** After the end of the run: keeps the archive that it wrote, if it wrote one. */
  keep(): Promise<void>;
  /** After the end of a run that did not get far: its archive would lack most classes for ever. */
  discard(): Promise<void>;
}

/**
 * Half of a broker's start is the loading of classes. Java can keep them in an archive, which it writes when it ends (that
 * takes it 2 s and 50 MB, once): every later start, also on other data, is twice as fast.
 */
export function classArchive({ archive }: KafkaJava): Archiving {
  const nothing = (): Promise<void> => Promise.resolve();
  if (existsSync(archive)) return { flags: useArchive(archive), keep: nothing, discard: nothing };
  const temporary = `${archive}.${process.pid}-${randomBytes(4).toString("hex")}`;
  return {
    // Not every Java has the flag.
    flags: ["-XX:+IgnoreUnrecognizedVMOptions", `-XX:ArchiveClassesAtExit=${temporary}`],
    // A broker that was killed, or may not write there, has left none: the next one will.
    keep: () => rename(temporary, archive).catch(() => undefined),
    discard: () => rm(temporary, { force: true }),
  };
}

const useArchive = (archive: string): string[] => [
  "-XX:+IgnoreUnrecognizedVMOptions",
  `-XX:SharedArchiveFile=${archive}`,
];

export interface ClassRun {
  readonly mainClass: string;
  readonly args: readonly string[];
  /** Is put on Java's own command line. */
  readonly flags?: readonly string[];
  readonly input?: Uint8Array;
}

/** Runs a short-lived class to its end and gives its standard output. Throws when it exits non-zero. */
export async function runClass(
  java: KafkaJava,
  { mainClass, args, flags = [], input }: ClassRun,
): Promise<string> {
  const all = [
    "-Xmx256m",
    // It ends before the optimising compiler would pay.
    "-XX:TieredStopAtLevel=1",
    ...(existsSync(java.archive) ? useArchive(java.archive) : []),
    ...flags,
  ];
  const command = [...javaArgs(java, mainClass, all), ...args];
  const { code, stdout, stderr } = await runCommand(
    java.command,
    command,
    input === undefined ? {} : { input },
  );
  if (code === 0) return stdout;
  throw new Error(`${mainClass} exited with code ${code}: ${lastLines(stdout + stderr, 20)}`);
}
