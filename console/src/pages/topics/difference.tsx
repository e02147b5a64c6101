/** The members of a definition that can change. */
export interface Definition {
  readonly name: string;
  readonly namespace: string;
  readonly headerQuery: string;
  readonly contentQuery: string;
}

export const definitionMembers = ["name", "namespace", "headerQuery", "contentQuery"] as const;
export type DefinitionMember = (typeof definitionMembers)[number];

export const memberLabels: Readonly<Record<DefinitionMember, string>> = {
  name: "Name",
  namespace: "Namespace",
  headerQuery: "Header query",
  contentQuery: "Content query",
};

export const isSameDefinition = (one: Definition, other: Definition): boolean =>
  definitionMembers.every((member) => one[member] === other[member]);

interface DifferenceProps {
  readonly before: Definition;
  readonly after: Definition;
}

/** The members that differ, before and after. */
export const DefinitionDifference = ({ before, after }: DifferenceProps) => (
  <dl class="difference">
    {definitionMembers
      .filter((member) => before[member] !== after[member])
      .map((member) => (
        <div key={member}>
          <dt>{memberLabels[member]}</dt>
          <dd>
            <Text member={member} text={before[member]} other={after[member]} side="was" />
            <Text member={member} text={after[member]} other={before[member]} side="now" />
          </dd>
        </div>
      ))}
  </dl>
);

interface TextProps {
  readonly member: string;
  readonly text: string;
  readonly other: string;
  readonly side: "was" | "now";
}

/** A member's text, with what the other one does not have marked. */
export function Text({ member, text, other, side }: TextProps) {
  const isFilter = member === "headerQuery" || member === "contentQuery";
  const parts = isFilter ? markFilter(text, other) : [{ text, isMarked: true }];
  const Mark = side === "was" ? "del" : "ins";
  return (
    <pre class={`query ${side}`}>
      <span class="hidden">{side === "was" ? "Before: " : "After: "}</span>
      {text === "" ? "(empty)" : null}
      {parts.map((part, at) => (part.isMarked ? <Mark key={at}>{part.text}</Mark> : part.text))}
    </pre>
  );
}

interface Part {
  readonly text: string;
  readonly isMarked: boolean;
}

/** Marks the conditions of a filter that another one does not have, or only the values of a condition. */
function markFilter(text: string, other: string): readonly Part[] {
  const others = other.split("&");
  const parts = text
    .split("&")
    .flatMap((condition, at): Part[] => [
      ...(at === 0 ? [] : [{ text: "&", isMarked: false }]),
      ...markCondition(condition, others),
    ]);
  return parts.filter((part) => part.text !== "");
}

/** The name and the operator of a condition. */
const getHead = (condition: string): string => /^[^=<>!]*[=<>!]+/u.exec(condition)?.[0] ?? "";

function markCondition(condition: string, others: readonly string[]): readonly Part[] {
  if (others.includes(condition)) return [{ text: condition, isMarked: false }];
  const head = getHead(condition);
  const alike = others.filter((other) => head !== "" && getHead(other) === head);
  if (alike.length === 0) return [{ text: condition, isMarked: true }];
  const values = new Set(alike.flatMap((other) => other.slice(head.length).split(",")));
  return [
    { text: head, isMarked: false },
    ...condition
      .slice(head.length)
      .split(",")
      .flatMap((value, at): Part[] => [
        ...(at === 0 ? [] : [{ text: ",", isMarked: false }]),
        { text: value, isMarked: !values.has(value) },
      ]),
  ];
}
