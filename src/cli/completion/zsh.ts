import type { CompletedArgument, CompletedCommand, CompletedOption, Completes } from "./tree.ts";

/** The completion for zsh: to be sourced, or to lie in a folder of $fpath as \`_topicsync\`. */
export const zshCompletion = (commands: readonly CompletedCommand[]): string => `#compdef topicsync
# Completion of topicsync for zsh.
${commands.map(functionOf).join("\n")}
if [[ $funcstack[1] == _topicsync ]]; then _topicsync "$@"; else compdef _topicsync topicsync; fi
`;

const nameOf = (path: readonly string[]): string => ["_topicsync", ...path].join("_");

/** A function for each command, which completes what may follow it. */
function functionOf(command: CompletedCommand): string {
  const options = command.options.flatMap(optionSpecs);
  if (command.commands.length === 0) {
    const specs = [...options, ...command.arguments.map(argumentSpec)];
    return `${nameOf(command.path)}() {
  _arguments ${specs.join(" \\\n    ")}
}`;
  }
  const below = command.commands.map(({ name }) => name).filter((name) => name !== "help");
  return `${nameOf(command.path)}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C ${[...options, "':command:->command'", "'*::argument:->argument'"].join(" \\\n    ")}
  case $state in
    command)
      local -a commands=(
        ${command.commands.map(({ name, description }) => quoted(`${name}:${description}`)).join("\n        ")}
      )
      _describe -t commands command commands ;;
    argument)
      case $line[1] in
        ${below.map((name) => `${name}) ${nameOf([...command.path, name])} ;;`).join("\n        ")}
      esac ;;
  esac
}`;
}

function optionSpecs({ names, description, value, valueName, isRepeated }: CompletedOption): string[] {
  const others = isRepeated || names.length < 2 ? "" : `(${names.join(" ")})`;
  return names.map((name) => {
    const equals = value === undefined ? "" : name.startsWith("--") ? "=" : "+";
    const taken = value === undefined ? "" : `:${valueName}:${actionOf(value)}`;
    return quoted(`${others}${isRepeated ? "*" : ""}${name}${equals}[${escaped(description)}]${taken}`);
  });
}

const argumentSpec = ({ name, value, isVariadic }: CompletedArgument): string =>
  quoted(`${isVariadic ? "*" : ""}:${name}:${actionOf(value)}`);

const actionOf = (value: Completes): string =>
  value === "file" ? "_files" : value === "text" ? " " : `(${value.join(" ")})`;

const escaped = (text: string): string => text.replace(/[[\]:\\]/g, (character) => `\\${character}`);
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
