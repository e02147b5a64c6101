import type { CompletedArgument, CompletedCommand, CompletedOption, Completes } from "./tree.ts";

export const fishCompletion = (
  commands: readonly CompletedCommand[],
): string => `# Completion of topicsync for fish.
set -g __topicsync_commands ${commands
  .filter(({ path }) => path.length > 0)
  .map(({ path }) => quote(path.join(" ")))
  .join(" ")}
# Whether the line is at this command and, optionally, after this number of arguments.
function __topicsync_at
    set -l at ""
    set -l count 0
    for word in (commandline -opc)[2..-1]
        set -l below (string trim -- "$at $word")
        if contains -- $below $__topicsync_commands
            set at $below
            set count 0
        else if not string match -q -- '-*' $word
            set count (math $count + 1)
        end
    end
    test "$at" = "$argv[1]"; and begin
        test -z "$argv[2]"; or test $count -eq "$argv[2]"
    end
end
complete -c topicsync -f
${commands.flatMap(toLines).join("\n")}
`;

function toLines({ path, commands, options, arguments: taken }: CompletedCommand): string[] {
  const at = path.join(" ");
  return [
    ...commands.map(({ name, description }) =>
      line(`__topicsync_at '${at}' 0`, `-a ${quote(name)} -d ${quote(description)}`),
    ),
    ...options.map((option) => line(`__topicsync_at '${at}'`, optionWords(option))),
    ...taken.flatMap((argument, index) => argumentLines(at, argument, index)),
  ];
}

const line = (condition: string, words: string): string =>
  `complete -c topicsync -n ${quote(condition)} ${words}`;

function optionWords({ names, description, value }: CompletedOption): string {
  const named = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  return [...named, ...(value === undefined ? [] : [valueWords(value)]), `-d ${quote(description)}`].join(
    " ",
  );
}

const valueWords = (value: Completes): string =>
  value === "file" ? "-r -F" : value === "text" ? "-x" : `-x -a ${quote(value.join(" "))}`;

function argumentLines(at: string, { value, isVariadic }: CompletedArgument, index: number): string[] {
  if (value === "text") return [];
  const condition = `__topicsync_at '${at}'${isVariadic ? "" : ` ${index}`}`;
  return [line(condition, value === "file" ? "-F" : `-a ${quote(value.join(" "))}`)];
}

const quote = (text: string): string => `'${text.replace(/[\\']/g, (character) => `\\${character}`)}'`;
