/**
 * Runs commands of the program one after another, each as if this process had been started for it: with its
 * arguments, environment and standard input, until nothing keeps the process alive any longer. Both outputs
 * then get a marker.
 */
import { Readable } from "node:stream";

import type { HostedCommand } from "./commands.ts";

/** Node's exit code if the event loop is empty, but the program still awaits something at its top level. */
const unsettledExitCode = 13;

let running: { readonly marker: string; isSettled: boolean } | undefined;
let started = 0;

process.on("message", ({ program, folder, args, environment, input, marker }: HostedCommand) => {
  const command = { marker, isSettled: false };
  running = command;
  process.channel?.unref();
  if (folder !== undefined) process.chdir(folder);
  process.argv = [process.execPath, program, ...args];
  process.env = environment;
  process.exitCode = undefined;
  // A TTY would be asked questions; this is what a pipe looks like.
  Object.defineProperty(process, "stdin", { value: Readable.from([Buffer.from(input)]), configurable: true });
  started += 1;
  // With another query the program itself runs again, while the modules that it imports stay loaded.
  void import(`${program}?run=${started}`).then(() => {
    command.isSettled = true;
  });
});

process.once("disconnect", () => {
  process.exit();
});

process.on("beforeExit", () => {
  if (running === undefined) return;
  const { marker, isSettled } = running;
  running = undefined;
  const code = isSettled ? (process.exitCode ?? 0) : unsettledExitCode;
  // Each run adds a listener.
  process.stdout.removeAllListeners("error");
  process.channel?.ref();
  process.stdout.write(`${marker}${code}\n`);
  process.stderr.write(`${marker}\n`);
});
