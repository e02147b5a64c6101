import type { CompletedCommand, Completes } from "./tree.ts";

/** The completion for bash, version 3.2 (macOS) and later. Whatever stands on the line is compared, and never evaluated. */
export const bashCompletion = (
  commands: readonly CompletedCommand[],
): string => `# Completion of topicsync for bash.
_topicsync() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at="" words="" files="" count=0 i
  # "--option=value" comes as three words.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${patterns(commands.filter(({ path }) => path.length > 0).map(({ path }) => nameOf(path)))})
        at="$at \${COMP_WORDS[i]}"; count=0 ;;
      *" -"*) ;;
      *) count=$((count + 1)) ;;
    esac
  done

  case "$at $prev" in
${commands.flatMap(optionValues).join("\n")}
    *)
      if [[ $cur == -* ]]; then
        case "$at" in
${commands.map(optionNames).join("\n")}
        esac
      else
        case "$at $count" in
${commands.flatMap(followers).join("\n")}
        esac
      fi ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  # Where a file may stand, bash completes it by itself; bash 3.2 does so also where nothing is known.
  if [[ -z $files ]]; then compopt +o default 2>/dev/null; fi
  return 0
}
complete -o default -F _topicsync topicsync
`;

const nameOf = (path: readonly string[]): string => path.map((word) => ` ${word}`).join("");
const quoted = (text: string): string => `"${text}"`;
const patterns = (texts: readonly string[]): string => texts.map(quoted).join(" | ");
const indented = (columns: number, pattern: string, action: string): string =>
  `${" ".repeat(columns)}${pattern}) ${action};;`;

const offer = (words: readonly string[]): string => `words="${words.join(" ")}" `;
const actionOf = (value: Completes): string =>
  value === "file" ? "files=yes " : value === "text" ? "" : offer(value);

const optionValues = ({ path, options }: CompletedCommand): string[] =>
  options.flatMap(({ names, value }) => {
    const pattern = patterns(names.map((name) => `${nameOf(path)} ${name}`));
    return value === undefined ? [] : [indented(4, pattern, actionOf(value))];
  });

const optionNames = ({ path, options }: CompletedCommand): string =>
  indented(10, quoted(nameOf(path)), offer(options.flatMap(({ names }) => names)));

/** What may stand behind a command without a hyphen: commands, or arguments by their place. */
function followers({ path, commands, arguments: taken }: CompletedCommand): string[] {
  if (commands.length > 0)
    return [indented(10, quoted(`${nameOf(path)} 0`), offer(commands.map(({ name }) => name)))];
  return taken.flatMap(({ value, isVariadic }, index) => {
    if (value === "text") return [];
    const pattern = isVariadic ? `${quoted(`${nameOf(path)} `)}*` : quoted(`${nameOf(path)} ${index}`);
    return [indented(10, pattern, actionOf(value))];
  });
}
