import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

interface CommandOptions {
  /** This process's own working directory by default. */
  readonly cwd?: string;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program's standard input. */
  readonly input?: Uint8Array;
  /** Called with each line of the standard output as it is printed. */
  readonly onLine?: (line: string) => void;
}

/** The exit code and the output of a program. */
export interface CommandResult {
  /** Null if a signal killed the program. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program. Throws only if it cannot be started (see isCommandMissing), not for a non-zero exit code.
 */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: options.cwd, env: { ...process.env, ...options.env } });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    if (options.onLine !== undefined) createInterface({ input: child.stdout }).on("line", options.onLine);
    child.once("error", reject);
    child.once("close", (code) => {
      resolve({ code, stdout, stderr });
    });
    // A program that exits without reading its input breaks the pipe; its exit code is the error to report.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input);
  });
}

/** Whether an error of runCommand means that the program does not exist or is not executable. */
export function isCommandMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "EACCES");
}

/** Returns the last non-empty lines of a text. */
export function getLastLines(text: string, count: number): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-count).join("\n");
}
