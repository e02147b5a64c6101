import type { ComponentChildren } from "preact";

import type { FilterWarning } from "../../../../../schemas/topics/check.ts";
import { Completions, type EventStructure } from "./completion.tsx";
import type { DraftMember } from "./draft.ts";
import { FilterDescription } from "../filter.tsx";

/** What is between backticks is code. */
const Message = ({ text }: { readonly text: string }) => (
  <>{text.split("`").map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))}</>
);

interface TopicFieldProps {
  readonly name: DraftMember;
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly fault: string | undefined;
  readonly warnings: readonly FilterWarning[];
  readonly structure: EventStructure;
  /** What the field had before. */
  readonly difference?: ComponentChildren;
  readonly onChange: (value: string) => void;
}

/** A field with its fault below it, or for a valid filter its description. */
export function TopicField(props: TopicFieldProps) {
  const { name, label, hint = "", value, fault, warnings, structure, difference, onChange } = props;
  const isFilter = name === "headerQuery" || name === "contentQuery";
  const hintId = `${name}-hint`;
  const shared = {
    id: name,
    name,
    value,
    "aria-invalid": fault === undefined ? undefined : true,
    "aria-describedby": hintId,
  };
  function complete(text: string): void {
    onChange(text);
    document.getElementById(name)?.focus();
  }
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {isFilter ? (
        <textarea
          {...shared}
          class="code"
          rows={2}
          spellcheck={false}
          onInput={({ currentTarget }) => {
            onChange(currentTarget.value);
          }}
        />
      ) : (
        <input
          {...shared}
          autocomplete="off"
          onInput={({ currentTarget }) => {
            onChange(currentTarget.value);
          }}
        />
      )}
      <div class="hint" id={hintId} aria-live="polite">
        {isFilter ? <FilterDescription member={name} text={value} /> : (fault ?? hint)}
        {warnings.map(({ code, condition, message }) => (
          <p key={`${code} ${condition} ${message}`} class="warning">
            <Message text={message} />
          </p>
        ))}
      </div>
      {difference}
      {isFilter && <Completions member={name} text={value} structure={structure} onChoose={complete} />}
    </div>
  );
}
