import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { ApiError } from "../../../api.ts";
import { ErrorMessage } from "../../../components/error-message.tsx";
import { useEventStructure } from "./completion.tsx";
import {
  toFaults,
  useDraftCheck,
  validateDraft,
  type Draft,
  type DraftMember,
  type Faults,
} from "./draft.ts";
import { TopicField } from "./field.tsx";
import { findFilterError } from "../filter.tsx";

export interface DefinitionField {
  readonly name: DraftMember;
  readonly label: string;
  readonly hint?: string;
}

interface DefinitionFormProps {
  readonly fields: readonly DefinitionField[];
  readonly draft: Draft;
  /** What is compared with other topics and events while typing. */
  readonly checked: Draft | undefined;
  /** Why the last submission failed. */
  readonly error: unknown;
  readonly class?: string;
  /** Shows what a field had before. */
  readonly showDifference?: (member: DraftMember) => ComponentChildren;
  readonly onChange: (member: DraftMember, value: string) => void;
  /** Called unless faults are known. */
  readonly onSubmit: () => void;
  /** What is below the fields. */
  readonly children: ComponentChildren;
}

/** The fields of a definition, each with its faults and warnings while typing. */
export function DefinitionForm(props: DefinitionFormProps) {
  const { fields, draft, checked, error, showDifference, onChange, onSubmit, children } = props;
  const [serverFaults, setServerFaults] = useState<Faults>({});
  const [wasSubmitted, setWasSubmitted] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const { conflicts, warnings } = useDraftCheck(checked);
  const structure = useEventStructure(draft.headerQuery);
  const faults: Faults = { ...conflicts, ...serverFaults, ...validateDraft(draft, { wasSubmitted }) };
  const shown = new Set<string>(["topic", ...fields.map(({ name }) => name)]);

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    setWasSubmitted(true);
    const found = { ...conflicts, ...validateDraft(draft, { wasSubmitted: true }) };
    if (Object.keys(found).length > 0) focusFirstFault(form.current, fields, { faults: found, draft });
    else onSubmit();
  }

  useEffect(() => {
    const found = error instanceof ApiError ? toFaults(error.details) : {};
    setServerFaults(found);
    focusFirstFault(form.current, fields, { faults: found, draft });
  }, [error]);

  const reported = error instanceof ApiError ? Object.keys(toFaults(error.details)) : [];
  const isReportedByFields = reported.length > 0 && reported.every((name) => shown.has(name));
  return (
    <form ref={form} class={props.class} noValidate onSubmit={submit}>
      <div>
        {fields.map((field) => (
          <TopicField
            key={field.name}
            {...field}
            value={draft[field.name]}
            fault={faults[field.name]}
            warnings={warnings.filter(({ filter }) => filter === field.name)}
            structure={structure}
            difference={showDifference?.(field.name)}
            onChange={(value) => {
              setServerFaults({});
              onChange(field.name, value);
            }}
          />
        ))}
        {faults.topic !== undefined && (
          <article class="failure">
            <p role="alert">{faults.topic}</p>
          </article>
        )}
        {error !== undefined && !isReportedByFields && <ErrorMessage error={error} />}
      </div>
      {children}
    </form>
  );
}

/** Focuses the first field with a fault; in a filter, the position of the fault. */
function focusFirstFault(
  form: HTMLFormElement | null,
  fields: readonly DefinitionField[],
  { faults, draft }: { readonly faults: Faults; readonly draft: Draft },
): void {
  const first = fields.find(({ name }) => faults[name] !== undefined)?.name;
  const element = first === undefined ? undefined : form?.elements.namedItem(first);
  if (first === undefined || !(element instanceof HTMLElement)) return;
  element.focus();
  if (!(element instanceof HTMLTextAreaElement)) return;
  const { position } = findFilterError(draft[first]) ?? {};
  if (position !== undefined) element.setSelectionRange(position, position);
}
