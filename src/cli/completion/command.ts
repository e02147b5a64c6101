import { Argument, type Command } from "commander";

import { printLine } from "../output/output.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** Adds `topicsync completion`. */
export function addCompletionCommand(program: Command): void {
  program
    .command("completion")
    .description("print a script that completes commands and options in your shell")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .addHelpText(
      "after",
      `
To have it in every new shell, write it where the shell looks for such scripts (again after an upgrade):
  bash   topicsync completion bash > ~/.local/share/bash-completion/completions/topicsync
         (or source it in ~/.bashrc, where the package bash-completion is not installed)
  zsh    topicsync completion zsh > "\${fpath[1]}/_topicsync"
  fish   topicsync completion fish > ~/.config/fish/completions/topicsync.fish`,
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { scripts } = await import("./scripts.ts");
      printLine(scripts[shell](program).trimEnd());
    });
}
