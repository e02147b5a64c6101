import { FilterSyntaxError, getOperator, suffixes } from "./filter.ts";

/**
 * What other filter languages write for an operator, and what to write here. Without these rules such a text
 * would be a literal, and never match: nothing is silently a literal.
 */
const foreignSuffixes: ReadonlyMap<string, string> = new Map([
  ...spell("between", "write a.gte=1&a.lte=5"),
  ...spell(
    "isnull isempty isblank isnotnull notnull isnotempty notempty isnotblank notblank",
    "write .exists=true or .exists=false",
  ),
  ...spell("matches match regexp rlike", "write .regex="),
  ...spell("wildcard glob ilike", "write .like="),
  ...spell(
    "nlike notlike notcontains ncontains nregex",
    "patterns have no negation; write != for values that must not be equal",
  ),
  ...spell("notin not_in anythingbut anything-but neq not nsameas", "write != or .nin="),
  ...spell("equals equal sameas exact oneof isoneof anyof", "write = or .in="),
  ...spell("iequals equalsignorecase equals-ignore-case iexact ieq", "write .eqi="),
  ...spell("starts-with starts_with beginswith istartswith hasprefix", "write .prefix="),
  ...spell("ends-with ends_with iendswith hassuffix", "write .suffix="),
  ...spell("icontains substring containsany", "write .contains="),
  ...spell("cidr", "networks have no operator; write .prefix=10.0.0."),
  ...spell("ge greaterthanorequal greater_than_or_equal", "write .gte="),
  ...spell("le lessthanorequal less_than_or_equal", "write .lte="),
  ...spell("greaterthan greater_than", "write .gt="),
  ...spell("lessthan less_than", "write .lt="),
]);

function spell(names: string, cure: string): (readonly [string, string])[] {
  return names.split(" ").map((name) => [name, cure] as const);
}

/** Whether a name at the end of a path must be followed by an operator, because it looks like one. */
export const needsOperator = (name: string): boolean => findCure(name.toLowerCase()) !== undefined;

const findCure = (lower: string): string | undefined =>
  getOperator(lower) === undefined ? foreignSuffixes.get(lower) : `write .${lower}=`;

/** By length: a bit for each letter that a suffix of this length begins with. Others are passed over. */
const firstLetters = new Int32Array(32);
for (const suffix of [...suffixes, ...foreignSuffixes.keys()])
  firstLetters[suffix.length] = (firstLetters[suffix.length] ?? 0) | toLetterBit(suffix.charCodeAt(0));

/** The same for capitals. */
function toLetterBit(code: number): number {
  return 1 << (code & 0x1f);
}

/** Whether a name can be an operator, here or elsewhere: false for most names. */
export const mayBeSuffix = (text: string, start: number, end: number): boolean =>
  ((firstLetters[end - start] ?? 0) & toLetterBit(text.charCodeAt(start))) !== 0;

/** Throws if the last name of a path is an operator elsewhere, or one of ours in capitals. */
export function rejectForeignSuffix(name: string, position: number): void {
  const cure = findCure(name.toLowerCase());
  if (cure === undefined) return;
  throw new FilterSyntaxError(
    `has ".${name}", which is not an operator; ${cure}, or .${name}.eq= for a member of this name`,
    position,
  );
}

/** Characters that no name has unencoded, and why they are written there. */
const foreignInNames: Readonly<Record<string, string>> = {
  "{": "it is a placeholder that was not replaced, or JSON",
  "(": "there are no parentheses",
  ")": "there are no parentheses",
  "!": "a condition is negated by its operator: a!=1, a.exists=false",
  "~": "write .like= or .regex=",
  "|": "alternatives are values: a=1,2",
  "[": "a list matches if one of its elements does; leave the index out",
  "]": "a list matches if one of its elements does; leave the index out",
  "*": "a path has no wildcards",
  "^": 'conditions are joined by "&"; write .prefix= for beginnings',
  $: "only $key, $header.NAME and $ce.ATTRIBUTE begin with it, in a headerQuery",
  '"': "names are not quoted",
};
const foreignInName = /[()!~|[\]*^$"]|\{(?=\{)/u;

/** Operators that are words elsewhere, and what to write here. */
const foreignWords: readonly (readonly [RegExp, string])[] = [
  [/^\s*[{[]/u, "a filter is written as a.b=1&c=2, not as JSON"],
  [/STARTSWITH/u, "write .prefix="],
  [/ENDSWITH/u, "write .suffix="],
  [/LIKE|CONTAINS/iu, "write .like= or .contains="],
  [/BETWEEN/iu, "write a>=1&a<=5"],
  [/EMPTY|IS ?NULL|IS NOT NULL|^\s*EXISTS\b/iu, "write .exists=true or .exists=false"],
  [/NOT ?IN|\bne\b/u, "write !="],
  [/IN\s*\(|IN\d|\bIN\b|SAMEAS|\beq\b|:/u, "write =, with commas between alternatives"],
  [/\b[gl][te]\b/u, "write >, >=, < or <="],
  [/~/u, "write .like= or .regex="],
];

/** Returns what to write instead of a condition without a sign; undefined if it resembles nothing. */
export const findCureOfWords = (text: string): string | undefined =>
  foreignWords.find(([word]) => word.test(text))?.[1];

/** The character codes that are looked at. Others are passed over quickly: a million filters are parsed. */
const suspects = new Uint8Array(128);
for (const character of `()!~|[]*^$"'{<>/`) suspects[character.charCodeAt(0)] = 1;

export const isSuspect = (code: number): boolean => suspects[code] === 1;

function hasSuspect(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (isSuspect(text.charCodeAt(at))) return true;
  return false;
}

/** Words before a condition. */
const foreignStart = /^(not|and|or)[ \t]/iu;
const foreignStarts: Readonly<Record<string, string>> = {
  not: "begins a condition with NOT; a condition is negated by its operator: a!=1, a.exists=false",
  and: 'begins a condition with AND; write "&" between conditions, and nothing else',
  or: "begins a condition with OR; alternatives are values: a=1,2",
};

/** Throws if a name has a character that is an operator elsewhere. */
export function rejectForeignName(text: string, start: number, end: number): void {
  const word = foreignStart.exec(text.slice(start, Math.min(start + 4, end)))?.[1]?.toLowerCase();
  if (word !== undefined) throw new FilterSyntaxError(foreignStarts[word] ?? "", start);
  if (!hasSuspect(text, start, end)) return;
  const name = text.slice(start, end);
  if (name.startsWith("/"))
    throw new FilterSyntaxError('begins a name with "/"; names of a path are joined by dots: a.b', start);
  const at = name.search(foreignInName);
  if (at < 0) return;
  const character = name[at] ?? "";
  throw new FilterSyntaxError(
    `has "${character}" in a name: ${foreignInNames[character] ?? ""}; write "${percentEncode(character)}" for the character itself`,
    start + at,
  );
}

/** The first character, encoded. */
export const percentEncode = (text: string): string =>
  `%${text.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
