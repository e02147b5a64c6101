import type { Command } from "commander";

import { bashCompletion } from "./bash.ts";
import { fishCompletion } from "./fish.ts";
import { completedCommands } from "./tree.ts";
import { zshCompletion } from "./zsh.ts";

/** The scripts that complete a program, by shell. They hold all they need: no process is started to complete a word. */
export const scripts = {
  bash: (program: Command): string => bashCompletion(completedCommands(program)),
  zsh: (program: Command): string => zshCompletion(completedCommands(program)),
  fish: (program: Command): string => fishCompletion(completedCommands(program)),
} as const;
