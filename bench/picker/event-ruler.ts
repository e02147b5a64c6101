import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";

import { lastLines } from "../../src/embedded/command.ts";
import type { LaunchOptions } from "../../src/embedded/stack.ts";
import { findJava } from "../../src/embedded/toolchain.ts";
import { installJars } from "../support/maven.ts";

const version = "1.8.1";
const project = join(import.meta.dirname, "event-ruler");

/** A rule under the name that stands for it in the answers; neither has a tab or a line feed. */
export interface Rule {
  readonly id: string;
  /** As JSON. */
  readonly rule: string;
}

/** What Event Ruler is given. */
export interface RulerInput {
  readonly rules: Iterable<Rule>;
  readonly ruleCount: number;
  /** Rules to add once all of `rules` are there. */
  readonly further?: readonly Rule[];
  /** As JSON texts. */
  readonly events: readonly string[];
}

/** Event Ruler (Java), as a program that runs once. */
export interface EventRuler {
  readonly name: string;
  /** Gives what it printed (see EventRuler.java). Throws with its last output when it fails. */
  run(args: readonly string[], input: RulerInput): Promise<string>;
}

/** Installs Event Ruler, the rule matcher of Amazon EventBridge, with Maven. */
export async function installEventRuler(
  options: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<EventRuler> {
  const name = `Event Ruler ${version}`;
  const java = await findJava();
  const jars = await installJars({ name, project, properties: { "event-ruler.version": version } }, options);
  const program = ["-Xmx12g", "-cp", join(jars, "*"), join(project, "EventRuler.java")];
  return {
    name,
    async run(args, input) {
      const child = spawn(java.command, [...program, ...args]);
      const ended = once(child, "close");
      // A program that ends without reading its input breaks the pipe; its exit code says what happened.
      const written = pipeline(Readable.from(chunks(input)), child.stdin).catch(() => undefined);
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), written, ended]);
      if (child.exitCode !== 0) throw new Error(`${name} failed:\n${lastLines(stderr, 10)}`);
      return stdout;
    },
  };
}

const linesAtOnce = 1_000;

/** The program's input, in pieces of many lines. */
function* chunks({ rules, ruleCount, further = [], events }: RulerInput): Generator<string> {
  let waiting: string[] = [String(ruleCount)];
  const formatRule = ({ id, rule }: Rule): string => `${id}\t${rule}`;
  for (const rule of rules) {
    waiting.push(formatRule(rule));
    if (waiting.length < linesAtOnce) continue;
    yield `${waiting.join("\n")}\n`;
    waiting = [];
  }
  waiting.push(String(further.length), ...further.map(formatRule), String(events.length));
  yield `${waiting.join("\n")}\n`;
  for (let at = 0; at < events.length; at += linesAtOnce)
    yield `${events.slice(at, at + linesAtOnce).join("\n")}\n`;
}
