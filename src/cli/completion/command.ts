import { Argument, type Command } from "commander";

import { printLine } from "../output/output.ts";
import { bashCompletion } from "./bash.ts";
import { fishCompletion } from "./fish.ts";
import { listCommands } from "./tree.ts";
import { zshCompletion } from "./zsh.ts";

/** Writes the completion script of a program, by shell. */
export const writers = {
  bash: (program: Command): string => bashCompletion(listCommands(program)),
  zsh: (program: Command): string => zshCompletion(listCommands(program)),
  fish: (program: Command): string => fishCompletion(listCommands(program)),
} as const;

type Shell = keyof typeof writers;

/** Defines `topicsync completion`; `program` returns the program with every command defined. */
export function defineCompletion(command: Command, program: () => Promise<Command>): void {
  command
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(writers)))
    .addHelpText(
      "after",
      `
To load it in every new shell, write it where the shell looks for completions (repeat after an upgrade):
  bash   topicsync completion bash > ~/.local/share/bash-completion/completions/topicsync
         (or source it in ~/.bashrc, if the package bash-completion is not installed)
  zsh    topicsync completion zsh > "\${fpath[1]}/_topicsync"
  fish   topicsync completion fish > ~/.config/fish/completions/topicsync.fish`,
    )
    .action(async (shell: Shell) => {
      printLine(writers[shell](await program()).trimEnd());
    });
}
