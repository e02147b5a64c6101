#!/usr/bin/env -S node --max-semi-space-size=16 --heap-growing-percent=100
import { Command, CommanderError } from "commander";

import { addAnnounceCommand } from "./cli/commands/announce.ts";
import { addCatalogCommands } from "./cli/commands/catalog.ts";
import { addCompletionCommand } from "./cli/completion/command.ts";
import { addDeadLettersCommand } from "./cli/commands/dead-letters.ts";
import { addFiltersCommand } from "./cli/commands/filters.ts";
import { ignoreBrokenPipe, printError, sanitize } from "./cli/output/output.ts";
import { addInstallationsCommand } from "./cli/commands/installations.ts";
import { addPickCommand } from "./cli/commands/pick.ts";
import { addStartCommand } from "./cli/commands/start.ts";
import { addStatusCommand } from "./cli/commands/status.ts";
import { addTopicsCommand } from "./cli/commands/topics.ts";
import { addUsersCommand } from "./cli/commands/users.ts";
import {
  ConfigurationError,
  DatabaseConflictError,
  exitCodes,
  getErrorMessage,
  RejectionError,
  UnavailableError,
} from "./lib/errors.ts";
import { version } from "./lib/version.ts";

const program = new Command("topicsync")
  .description(
    "Keeps a MongoDB collection of event topics in step with a message broker, and registers push tokens.",
  )
  .version(version, "-V, --version", "print the version")
  .addHelpText(
    "after",
    `
Settings are environment variables, also read from a .env file in the working directory. docs/settings.md lists them.

Exit codes: 0 success, 1 unexpected failure, 3 part of the input was rejected, 64 usage error, 65 conflicting data or
indexes in the database, 69 broker or store unavailable, 70 the consumer died (restart it), 78 invalid settings.`,
  )
  .exitOverride();

for (const addCommand of [
  addStartCommand,
  addStatusCommand,
  addAnnounceCommand,
  addTopicsCommand,
  addCatalogCommands,
  addUsersCommand,
  addInstallationsCommand,
  addDeadLettersCommand,
  addFiltersCommand,
  addPickCommand,
  addCompletionCommand,
])
  addCommand(program);

ignoreBrokenPipe();
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = toExitCode(error);
  // The message may quote stored text, so each line is sanitized.
  if (!(error instanceof CommanderError))
    for (const line of `topicsync: ${getErrorMessage(error)}`.split("\n")) printError(sanitize(line));
}

function toExitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof ConfigurationError) return exitCodes.configuration;
  if (error instanceof DatabaseConflictError) return exitCodes.databaseConflict;
  if (error instanceof RejectionError) return exitCodes.rejected;
  if (error instanceof UnavailableError) return exitCodes.unavailable;
  return exitCodes.failure;
}
