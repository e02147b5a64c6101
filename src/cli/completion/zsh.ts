import type { CompletedArgument, CompletedCommand, CompletedOption, Completes } from "./tree.ts";

/** Writes the completion for zsh: sourced, or in a directory of $fpath as `_topicsync`. */
export const zshCompletion = (commands: readonly CompletedCommand[]): string => `#compdef topicsync
# Completion of topicsync for zsh.
${commands.map(toFunction).join("\n")}
if [[ $funcstack[1] == _topicsync ]]; then _topicsync "$@"; else compdef _topicsync topicsync; fi
`;

const toFunctionName = (path: readonly string[]): string => ["_topicsync", ...path].join("_");

/** Writes the function that completes what may follow a command. */
function toFunction(command: CompletedCommand): string {
  const options = command.options.flatMap(optionSpecs);
  if (command.commands.length === 0) {
    const specs = [...options, ...command.arguments.map(argumentSpec)];
    return `${toFunctionName(command.path)}() {
  _arguments ${specs.join(" \\\n    ")}
}`;
  }
  const below = command.commands.map(({ name }) => name).filter((name) => name !== "help");
  return `${toFunctionName(command.path)}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C ${[...options, "':command:->command'", "'*::argument:->argument'"].join(" \\\n    ")}
  case $state in
    command)
      local -a commands=(
        ${command.commands.map(({ name, description }) => quote(`${name}:${description}`)).join("\n        ")}
      )
      _describe -t commands command commands ;;
    argument)
      case $line[1] in
        ${below.map((name) => `${name}) ${toFunctionName([...command.path, name])} ;;`).join("\n        ")}
      esac ;;
  esac
}`;
}

function optionSpecs({ names, description, value, valueName, isRepeated }: CompletedOption): string[] {
  const others = isRepeated || names.length < 2 ? "" : `(${names.join(" ")})`;
  return names.map((name) => {
    const equals = value === undefined ? "" : name.startsWith("--") ? "=" : "+";
    const taken = value === undefined ? "" : `:${valueName}:${toAction(value)}`;
    return quote(`${others}${isRepeated ? "*" : ""}${name}${equals}[${escape(description)}]${taken}`);
  });
}

const argumentSpec = ({ name, value, isVariadic }: CompletedArgument): string =>
  quote(`${isVariadic ? "*" : ""}:${name}:${toAction(value)}`);

const toAction = (value: Completes): string =>
  value === "file" ? "_files" : value === "text" ? " " : `(${value.join(" ")})`;

const escape = (text: string): string => text.replace(/[[\]:\\]/g, (character) => `\\${character}`);
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
