import type { Draft } from "./draft.ts";
import { FilterWords } from "./filter.tsx";

export type FieldName = keyof Draft;

interface FieldProps {
  readonly name: FieldName;
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly fault: string | undefined;
  readonly typed: (value: string) => void;
}

/** A field of a new topic, and below it what is wrong with what is in it; of a filter, what it means. */
export function Field({ name, label, hint = "", value, fault, typed }: FieldProps) {
  const isFilter = name === "headerQuery" || name === "contentQuery";
  const shared = {
    id: name,
    name,
    value,
    "aria-invalid": fault === undefined ? undefined : true,
    "aria-describedby": `${name}-said`,
  };
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
            typed(currentTarget.value);
          }}
        />
      ) : (
        <input
          {...shared}
          autocomplete="off"
          onInput={({ currentTarget }) => {
            typed(currentTarget.value);
          }}
        />
      )}
      <div class="said" id={`${name}-said`} aria-live="polite">
        {isFilter ? <FilterWords member={name} text={value} /> : (fault ?? hint)}
      </div>
    </div>
  );
}
