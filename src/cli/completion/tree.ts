import type { Command, Option } from "commander";

/** What may stand at a place: nothing that is known, a file, or one of these words. */
export type Completes = "text" | "file" | readonly string[];

/** An option of a command. */
export interface CompletedOption {
  /** Such as `-o` and `--out`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined when it takes no value. */
  readonly value: Completes | undefined;
  readonly valueName: string;
  /** Whether it may be given again. */
  readonly isRepeated: boolean;
}

/** An argument of a command. */
export interface CompletedArgument {
  readonly name: string;
  readonly value: Completes;
  readonly isVariadic: boolean;
}

/** A command that can be completed, with everything that may follow it. */
export interface CompletedCommand {
  /** Its words behind the program's name; none for the program itself. */
  readonly path: readonly string[];
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  readonly arguments: readonly CompletedArgument[];
}

/** The program and all its commands that are shown in its help, each before those below it. */
export function completedCommands(program: Command, path: readonly string[] = []): CompletedCommand[] {
  const help = program.createHelp();
  const below = help.visibleCommands(program);
  return [
    {
      path,
      commands: below.map((command) => ({ name: command.name(), description: command.description() })),
      options: help.visibleOptions(program).map(completedOption),
      arguments: program.registeredArguments.map((argument) => ({
        name: argument.name(),
        value: completes(argument.name(), argument.argChoices),
        isVariadic: argument.variadic,
      })),
    },
    ...below
      .filter((command) => command.name() !== "help")
      .flatMap((command) => completedCommands(command, [...path, command.name()])),
  ];
}

function completedOption(option: Option): CompletedOption {
  const valueName = /<([^>.]+)/.exec(option.flags)?.[1] ?? "";
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    value: valueName === "" ? undefined : completes(valueName, option.argChoices),
    valueName,
    isRepeated: option.variadic,
  };
}

/** Files are known by the name that the help shows: `<file…>`, `<event-file…>`. */
const completes = (name: string, choices: readonly string[] | undefined): Completes => {
  const unsafe = choices?.find((choice) => !/^[\w.-]+$/.test(choice));
  if (unsafe !== undefined) throw new Error(`a shell would take "${unsafe}" for more than a word`);
  return choices ?? (name.endsWith("file") ? "file" : "text");
};
