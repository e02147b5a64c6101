import type { CompletedCommand, Completes } from "./tree.ts";

/** Writes the completion for bash 3.2 (macOS) and later. Words on the line are compared, never evaluated. */
export const bashCompletion = (
  commands: readonly CompletedCommand[],
): string => `# Completion of topicsync for bash.
_topicsync() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at="" words="" files="" count=0 i
  # "--option=value" comes as three words.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${toPattern(commands.filter(({ path }) => path.length > 0).map(({ path }) => formatPath(path)))})
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
  # bash completes files by default; bash 3.2 does so even where nothing is known.
  if [[ -z $files ]]; then compopt +o default 2>/dev/null; fi
  return 0
}
complete -o default -F _topicsync topicsync
`;

const formatPath = (path: readonly string[]): string => path.map((word) => ` ${word}`).join("");
const quote = (text: string): string => `"${text}"`;
const toPattern = (texts: readonly string[]): string => texts.map(quote).join(" | ");
const indent = (columns: number, pattern: string, action: string): string =>
  `${" ".repeat(columns)}${pattern}) ${action};;`;

const offer = (words: readonly string[]): string => `words="${words.join(" ")}" `;
const toAction = (value: Completes): string =>
  value === "file" ? "files=yes " : value === "text" ? "" : offer(value);

const optionValues = ({ path, options }: CompletedCommand): string[] =>
  options.flatMap(({ names, value }) => {
    const pattern = toPattern(names.map((name) => `${formatPath(path)} ${name}`));
    return value === undefined ? [] : [indent(4, pattern, toAction(value))];
  });

const optionNames = ({ path, options }: CompletedCommand): string =>
  indent(10, quote(formatPath(path)), offer(options.flatMap(({ names }) => names)));

/** The words that may follow a command: subcommands, or arguments by position. */
function followers({ path, commands, arguments: taken }: CompletedCommand): string[] {
  if (commands.length > 0)
    return [indent(10, quote(`${formatPath(path)} 0`), offer(commands.map(({ name }) => name)))];
  return taken.flatMap(({ value, isVariadic }, index) => {
    if (value === "text") return [];
    const pattern = isVariadic ? `${quote(`${formatPath(path)} `)}*` : quote(`${formatPath(path)} ${index}`);
    return [indent(10, pattern, toAction(value))];
  });
}
