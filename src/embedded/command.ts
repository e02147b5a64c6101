import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export interface CommandOptions {
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Given to the program on its standard input. */
  readonly input?: Uint8Array;
  /** Is called with each line of the standard output as it comes. */
  readonly onLine?: (line: string) => void;
}

/** How a program ended, and all that it printed. */
export interface Finished {
  /** Its exit code; null when a signal killed it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Throws only when it cannot be started (see isAbsent), not for its exit code. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: { ...process.env, ...options.env } });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    if (options.onLine !== undefined) createInterface({ input: child.stdout }).on("line", options.onLine);
    child.once("error", reject);
    child.once("close", (code) => {
      resolve({ code, stdout, stderr });
    });
    // A program that ends without reading its input breaks the pipe; its exit code says what happened.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input);
  });
}

/** Whether this error of runCommand means that there is no such program. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "EACCES");
}

/** The last lines of a text, without empty ones. */
export function lastLines(text: string, count: number): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-count).join("\n");
}
