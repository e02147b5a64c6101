#!/usr/bin/env -S node --max-semi-space-size=16
import { setFlagsFromString } from "node:v8";

import { Command, CommanderError } from "commander";

import { getErrorMessage } from "@topicsync/lib/errors";
import { toExitCode } from "./cli/exit-code.ts";
import { ignoreBrokenPipe, printError, sanitize } from "./cli/output/output.ts";
import { version } from "./config/version.ts";

interface CommandEntry {
  readonly name: string;
  readonly description: string;
  readonly isHidden?: true;
  /** Loads the module that adds the options, subcommands and action. */
  readonly load: () => Promise<(command: Command) => void>;
}

/** The commands in the order of `--help`. */
const entries: readonly CommandEntry[] = [
  {
    name: "start",
    description: "run the service until SIGTERM or SIGINT",
    load: async () => (await import("./cli/commands/start.ts")).defineStart,
  },
  {
    name: "status",
    description: "show the status of the sync: from a running service, else from Kafka and MongoDB",
    load: async () => (await import("./cli/commands/status.ts")).defineStatus,
  },
  {
    name: "announce",
    description:
      "publish definitions (NDJSON, a JSON array or a JSON object) to the announcements topic; publishes nothing if one of them is invalid",
    load: async () => (await import("./cli/commands/announce.ts")).defineAnnounce,
  },
  {
    name: "topics",
    description: "manage topics",
    load: async () => (await import("./cli/commands/topics/topics.ts")).defineTopics,
  },
  {
    name: "applications",
    description: "manage push applications",
    load: async () => (await import("./cli/commands/catalog.ts")).defineApplications,
  },
  {
    name: "platforms",
    description: "manage push platforms",
    load: async () => (await import("./cli/commands/catalog.ts")).definePlatforms,
  },
  {
    name: "users",
    description: "manage the users of the HTTP API and the console",
    load: async () => (await import("./cli/commands/users.ts")).defineUsers,
  },
  {
    name: "keys",
    description: "create, list and delete API keys of programs",
    load: async () => (await import("./cli/commands/keys.ts")).defineKeys,
  },
  {
    name: "token",
    description: "explain bearer tokens of an OpenID provider",
    load: async () => (await import("./cli/commands/token.ts")).defineToken,
  },
  {
    name: "installations",
    description: "list, deactivate, export and import registered push tokens",
    load: async () => (await import("./cli/commands/installations.ts")).defineInstallations,
  },
  {
    name: "dead-letters",
    description: "list, show and replay dead letters",
    load: async () => (await import("./cli/commands/dead-letters.ts")).defineDeadLetters,
  },
  {
    name: "backfills",
    description: "list, show and cancel backfills of topics",
    load: async () => (await import("./cli/commands/backfills.ts")).defineBackfills,
  },
  {
    name: "positions",
    description: "show and set where the consumers read on",
    load: async () => (await import("./cli/commands/positions.ts")).definePositions,
  },
  {
    name: "filters",
    description: "explain a filter, check the stored filters",
    load: async () => (await import("./cli/commands/filters.ts")).defineFilters,
  },
  {
    name: "events",
    description: "list, trace and send events, and show what each type looks like",
    load: async () => (await import("./cli/commands/events.ts")).defineEvents,
  },
  {
    name: "pick",
    description: "list the stored topics that match events",
    load: async () => (await import("./cli/commands/pick.ts")).definePick,
  },
  {
    name: "completion",
    description: "print a shell script that completes commands and options",
    load: async () => (await import("./cli/commands/completion.ts")).defineCompletion,
  },
  {
    name: "complete",
    isHidden: true,
    description: "print the completions of the last word, for the script",
    load: async () => (await import("./cli/commands/completion.ts")).defineComplete,
  },
];

/**
 * Creates the program. Only the named commands are loaded: most of a short command's time goes into loading
 * modules.
 */
async function createProgram(names: readonly string[]): Promise<Command> {
  const program = new Command("topicsync")
    .description(
      "Keeps a MongoDB collection of event topics in sync with a message broker, and registers push tokens.",
    )
    .version(version, "-V, --version", "print the version")
    .addHelpText(
      "after",
      `
Settings are environment variables, also read from a .env file in the working directory. docs/settings.md in
this package lists them.

Exit codes: 0 success, 1 unexpected failure, 2 there are changes or drift, 3 part of the input was rejected, 64 usage error, 65 conflicting data or
indexes in the database, 69 broker, store or service unavailable, 70 the consumer died (restart it), 75 the service is not ready (status),
78 invalid settings.`,
    )
    // Otherwise `topics show --version 3` would print the program's version.
    .enablePositionalOptions()
    .exitOverride();

  for (const { name, description, isHidden: hidden = false, load } of entries) {
    const command = program.command(name, { hidden }).description(description);
    if (names.includes(name)) (await load())(command);
  }
  return program;
}

ignoreBrokenPipe();
// The command is the first word, or the second after "help".
const program = await createProgram(process.argv.slice(2, 4));
// At most doubles the heap between full collections. As an option of node it would also make Node reject the
// compiled code of its own modules: a twentieth of the CPU time of the start.
setFlagsFromString("--heap-growing-percent=100");
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = toExitCode(error);
  if (error instanceof CommanderError) suggestOptions(error);
  // The message may quote stored text, so each line is sanitized.
  if (!(error instanceof CommanderError))
    for (const line of `topicsync: ${getErrorMessage(error)}`.split("\n")) printError(sanitize(line));
}

/** Commander suggests what is spelled alike, but not what begins alike: --content for --content-query. */
function suggestOptions({ message }: CommanderError): void {
  const [, given] = /unknown option '(--[^']+)'$/.exec(message) ?? [];
  if (given === undefined) return;
  const command = process.argv
    .slice(2)
    .reduce((found, word) => found.commands.find((one) => one.name() === word) ?? found, program);
  const longer = command.options.flatMap(({ long }) => (long?.startsWith(given) ? [long] : []));
  if (longer.length > 0) printError(`(Did you mean ${longer.join(" or ")}?)`);
}
