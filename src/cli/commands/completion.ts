import { Argument, type Command, type Option } from "commander";

import { printLine } from "../output/output.ts";

/** The completions where a file is expected: the shell knows those. */
const files = ":files";

/** The scripts ask `topicsync complete` for a line per completion: the word, and after a tab what it is. */
const scripts = {
  /** For bash 3.2 (macOS) and later, which completes files by default, also where nothing is known. */
  bash: `# Completion of topicsync for bash.
_topicsync() {
  local IFS=$'\\n'
  COMPREPLY=($(topicsync complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
  if [[ \${COMPREPLY[0]:-} == ${files} ]]; then COMPREPLY=(); else compopt +o default 2>/dev/null; fi
  return 0
}
complete -o default -F _topicsync topicsync`,
  /** Sourced, or in a directory of $fpath as `_topicsync`. */
  zsh: `#compdef topicsync
# Completion of topicsync for zsh.
_topicsync() {
  local -a found=("\${(@f)$(topicsync complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $found[1] == ${files} ]]; then _files; return; fi
  if [[ -z $found[1] ]]; then return 1; fi
  found=("\${(@)found/$'\\t'/:}")
  _describe topicsync found
}
if [[ $funcstack[1] == _topicsync ]]; then _topicsync "$@"; else compdef _topicsync topicsync; fi`,
  fish: `# Completion of topicsync for fish.
function __topicsync_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l found (topicsync complete $typed[2..-1] "$current" 2>/dev/null)
    if test "$found" = ${files}
        __fish_complete_path "$current"
    else if set -q found[1]
        printf '%s\\n' $found
    end
end
complete -c topicsync -f -a '(__topicsync_complete)'`,
} as const;

/** Defines `topicsync completion`. */
export function defineCompletion(command: Command): void {
  command
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(scripts)))
    .addHelpText(
      "after",
      `
To load it in every new shell, write it where the shell looks for completions:
  bash   topicsync completion bash > ~/.local/share/bash-completion/completions/topicsync
         (or source it in ~/.bashrc, if the package bash-completion is not installed)
  zsh    topicsync completion zsh > "\${fpath[1]}/_topicsync"
  fish   topicsync completion fish > ~/.config/fish/completions/topicsync.fish`,
    )
    .action((shell: keyof typeof scripts) => {
      printLine(scripts[shell]);
    });
}

/** Defines `topicsync complete`, which the scripts call with the words after the program's name. */
export function defineComplete(command: Command): void {
  command
    .argument("[words...]")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action((words: string[]) => {
      if (command.parent !== null) for (const one of complete(command.parent, words)) printLine(one);
    });
}

/** Lists the completions of the last word. */
function complete(program: Command, words: readonly string[]): readonly string[] {
  // bash splits "--option=value" into three words.
  const last = words.at(-1) === "=" ? "" : (words.at(-1) ?? "");
  const [attached = "", optionName] = /^(--[^=]+)=/.exec(last) ?? [];
  const { command, option, taken } = findPlace(program, words.slice(0, -1));
  const valued = optionName === undefined ? option : findOption(command, optionName);
  return list(command, last, { option: valued, taken })
    .map((one) => attached + one)
    .filter((one) => one === files || one.startsWith(last));
}

interface Place {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly option: Option | undefined;
  /** How many arguments the command has so far. */
  readonly taken: number;
}

/** Finds what the words lead to. */
function findPlace(program: Command, words: readonly string[]): Place {
  let place: Place = { command: program, option: undefined, taken: 0 };
  for (const word of words) {
    const { command, option, taken } = place;
    const below = command.commands.find((one) => one.name() === word);
    if (word === "=") continue;
    if (word.startsWith("-")) place = { command, option: findOption(command, word), taken };
    else if (option !== undefined) place = { command, option: option.variadic ? option : undefined, taken };
    else if (below !== undefined && taken === 0) place = { command: below, option: undefined, taken: 0 };
    else place = { command, option: undefined, taken: taken + 1 };
  }
  return place;
}

/** The option of this name, if it takes a value. */
const findOption = (command: Command, name: string): Option | undefined =>
  command.options.find((one) => one.required && (one.long === name || one.short === name));

/** Lists everything that may follow. */
function list(command: Command, last: string, { option, taken }: Omit<Place, "command">): readonly string[] {
  const help = command.createHelp();
  if (last.startsWith("-") && !last.includes("="))
    return help
      .visibleOptions(command)
      .flatMap(({ short, long, description }) =>
        [short, long].flatMap((name) => (name === undefined ? [] : [`${name}\t${description}`])),
      );
  if (option !== undefined) return listValues(/<([^>.]+)/.exec(option.flags)?.[1], option.argChoices);
  const below = help.visibleCommands(command);
  if (below.length > 0) return taken > 0 ? [] : below.map((one) => `${one.name()}\t${one.description()}`);
  const { registeredArguments: known } = command;
  const argument = known[taken] ?? (known.at(-1)?.variadic ? known.at(-1) : undefined);
  return listValues(argument?.name(), argument?.argChoices);
}

/** Files are recognised by the name in the help: `<file...>`, `<event-file...>`. */
const listValues = (name = "", choices?: readonly string[]): readonly string[] =>
  choices ?? (name.endsWith("file") ? [files] : []);
