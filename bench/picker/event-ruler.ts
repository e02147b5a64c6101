import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";

import { getLastLines, type LaunchOptions, findJava } from "@topicsync/embedded";
import { installJars } from "../support/maven.ts";

export const eventRulerVersion = "1.8.1";
const project = join(import.meta.dirname, "event-ruler");

/** Neither the id nor the rule contains a tab or a line feed. */
export interface Rule {
  readonly id: string;
  /** As JSON. */
  readonly rule: string;
}

export interface RulerInput {
  readonly rules: Iterable<Rule>;
  readonly ruleCount: number;
  /** Rules to add after `rules`. */
  readonly further?: readonly Rule[];
  /** As JSON texts. */
  readonly events: readonly string[];
}

export interface EventRuler {
  readonly name: string;
  /** Returns its output (see EventRuler.java). Throws its last output if it fails. */
  run(args: readonly string[], input: RulerInput): Promise<string>;
}

/** Installs Event Ruler, the rule matcher of Amazon EventBridge, with Maven. */
export async function installEventRuler(
  options: Pick<LaunchOptions, "toolsFolder" | "report">,
): Promise<EventRuler> {
  const name = `Event Ruler ${eventRulerVersion}`;
  const java = await findJava();
  const jars = await installJars(
    { name, project, properties: { "event-ruler.version": eventRulerVersion } },
    options,
  );
  const program = ["-Xmx12g", "-cp", join(jars, "*"), join(project, "EventRuler.java")];
  return {
    name,
    async run(args, input) {
      const child = spawn(java.command, [...program, ...args]);
      const ended = once(child, "close");
      // If the program exits early, writing fails; the exit code is checked below.
      const written = pipeline(Readable.from(createInput(input)), child.stdin).catch(() => undefined);
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), written, ended]);
      if (child.exitCode !== 0) throw new Error(`${name} failed:\n${getLastLines(stderr, 10)}`);
      return stdout;
    },
  };
}

const linesPerChunk = 1_000;

/** Creates the program's input in chunks of lines. */
function* createInput({ rules, ruleCount, further = [], events }: RulerInput): Generator<string> {
  let lines: string[] = [String(ruleCount)];
  const formatRule = ({ id, rule }: Rule): string => `${id}\t${rule}`;
  for (const rule of rules) {
    lines.push(formatRule(rule));
    if (lines.length < linesPerChunk) continue;
    yield `${lines.join("\n")}\n`;
    lines = [];
  }
  lines.push(String(further.length), ...further.map(formatRule), String(events.length));
  yield `${lines.join("\n")}\n`;
  for (let at = 0; at < events.length; at += linesPerChunk)
    yield `${events.slice(at, at + linesPerChunk).join("\n")}\n`;
}
