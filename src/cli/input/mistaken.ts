import type { Command } from "commander";

/** Answers commands that people type and that do not exist: `topics rm`. */
export function addMistaken(parent: Command, names: readonly string[], advice: string): void {
  for (const name of names)
    parent
      .command(name, { hidden: true })
      .allowUnknownOption()
      .allowExcessArguments()
      .action((_flags, command: Command) => command.error(`error: ${advice}`));
}

export const deletions = ["rm", "remove", "delete"];
