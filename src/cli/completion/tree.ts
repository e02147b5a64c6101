import type { Command, Option } from "commander";

/** What to complete: nothing, a file, or one of these words. */
export type Completes = "text" | "file" | readonly string[];

/** An option of a command. */
export interface CompletedOption {
  /** For example `-o` and `--out`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined if it takes no value. */
  readonly value: Completes | undefined;
  readonly valueName: string;
  /** Whether it may be repeated. */
  readonly isRepeated: boolean;
}

/** An argument of a command. */
export interface CompletedArgument {
  readonly name: string;
  readonly value: Completes;
  readonly isVariadic: boolean;
}

/** A command and everything that may follow it. */
export interface CompletedCommand {
  /** Its words after the program name; empty for the program itself. */
  readonly path: readonly string[];
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  readonly arguments: readonly CompletedArgument[];
}

/** Lists the program and all visible commands, parents first. */
export function listCommands(program: Command, path: readonly string[] = []): CompletedCommand[] {
  const help = program.createHelp();
  const below = help.visibleCommands(program);
  return [
    {
      path,
      commands: below.map((command) => ({ name: command.name(), description: command.description() })),
      options: help.visibleOptions(program).map(toOption),
      arguments: program.registeredArguments.map((argument) => ({
        name: argument.name(),
        value: toCompletes(argument.name(), argument.argChoices),
        isVariadic: argument.variadic,
      })),
    },
    ...below
      .filter((command) => command.name() !== "help")
      .flatMap((command) => listCommands(command, [...path, command.name()])),
  ];
}

function toOption(option: Option): CompletedOption {
  const valueName = /<([^>.]+)/.exec(option.flags)?.[1] ?? "";
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    value: valueName === "" ? undefined : toCompletes(valueName, option.argChoices),
    valueName,
    isRepeated: option.variadic,
  };
}

/** Files are recognised by the name in the help: `<file…>`, `<event-file…>`. */
const toCompletes = (name: string, choices: readonly string[] | undefined): Completes => {
  const unsafe = choices?.find((choice) => !/^[\w.-]+$/.test(choice));
  if (unsafe !== undefined) throw new Error(`the choice "${unsafe}" is not a single shell word`);
  return choices ?? (name.endsWith("file") ? "file" : "text");
};
