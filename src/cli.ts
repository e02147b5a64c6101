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
import { addStatusCommand } from "./cli/commands/status.ts";
import { addTopicsCommand } from "./cli/commands/topics.ts";
import { addUsersCommand } from "./cli/commands/users.ts";
import {
  ConfigurationError,
  DatabaseConflictError,
  exitCodes,
  getErrorMessage,
  RefusalError,
  UnavailableError,
} from "./lib/errors.ts";
import { version } from "./lib/version.ts";

const program = new Command("topicsync")
  .description(
    "Keeps a MongoDB collection of event topics in step with a message broker, and registers push tokens.",
  )
  .version(version, "-V, --version", "tell the version")
  .addHelpText(
    "after",
    `
Settings are environment variables; a .env file in the working folder is read. The README says where they are listed.

Exit codes: 0 ended as asked, 1 unexpected failure, 3 some of what was given was refused, 64 wrong use, 65 the
database conflicts with what topicsync needs, 69 no broker or store can be had, 70 the consumer died (start again),
78 wrong settings.`,
  )
  .exitOverride();

program
  .command("start")
  .description("run the service until SIGTERM or SIGINT")
  .action(async () => {
    // Half of the program, which no other command needs.
    const { start } = await import("./cli/commands/start.ts");
    process.exit(await start(process.env));
  });
addStatusCommand(program);
addAnnounceCommand(program);
addTopicsCommand(program);
addCatalogCommands(program);
addUsersCommand(program);
addInstallationsCommand(program);
addDeadLettersCommand(program);
addFiltersCommand(program);
addPickCommand(program);
addCompletionCommand(program);

ignoreBrokenPipe();
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
  // It may quote what is stored; its own lines stay.
  if (!(error instanceof CommanderError))
    for (const line of `topicsync: ${getErrorMessage(error)}`.split("\n")) printError(sanitize(line));
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof ConfigurationError) return exitCodes.configuration;
  if (error instanceof DatabaseConflictError) return exitCodes.databaseConflict;
  if (error instanceof RefusalError) return exitCodes.refused;
  if (error instanceof UnavailableError) return exitCodes.unavailable;
  return exitCodes.failure;
}
