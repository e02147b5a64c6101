import { useEffect, useRef, useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";

import type { FilterWarning } from "../../../../schemas/topic-check.ts";
import type { TopicResponse } from "../../../../schemas/topic.ts";
import { api, ApiError } from "../../api.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Page } from "../../components/page.tsx";
import { useAction } from "../../query.ts";
import {
  toFaults,
  useDraftCheck,
  validateDraft,
  type Draft,
  type DraftMember,
  type Faults,
} from "./draft.ts";
import { Completions, useEventStructure, type EventStructure } from "./completion.tsx";
import { FilterDescription, findFilterError } from "./filter.tsx";
import { getTopicPath } from "./source.ts";

const fields: readonly { readonly name: DraftMember; readonly label: string; readonly hint?: string }[] = [
  { name: "name", label: "Name" },
  { name: "externalId", label: "External id", hint: "Must be unique, such as a GUID." },
  { name: "namespace", label: "Namespace", hint: "Optional." },
  { name: "headerQuery", label: "Header query" },
  { name: "contentQuery", label: "Content query" },
];

export function CreateTopic({ from }: { readonly from: Draft }) {
  const [draft, setDraft] = useState(from);
  const [serverFaults, setServerFaults] = useState<Faults>({});
  const [wasSubmitted, setWasSubmitted] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const { conflicts, warnings } = useDraftCheck(draft);
  const structure = useEventStructure(draft.headerQuery);
  const action = useAction();
  const [, navigate] = useLocation();
  const faults: Faults = { ...conflicts, ...serverFaults, ...validateDraft(draft, { wasSubmitted }) };
  const hasFaultDetails = action.error instanceof ApiError && action.error.details.length > 0;

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    setWasSubmitted(true);
    const found = { ...conflicts, ...validateDraft(draft, { wasSubmitted: true }) };
    if (Object.keys(found).length > 0) {
      focusFirstFault(form.current, found, draft);
      return;
    }
    action.run(
      () => api.post<TopicResponse>("/api/svc_api_notif_mgmt/topic", draft),
      (topic) => {
        navigate(`/topics/${getTopicPath(topic)}`);
      },
    );
  }

  useEffect(() => {
    if (!(action.error instanceof ApiError)) return;
    const found = toFaults(action.error.details);
    setServerFaults(found);
    focusFirstFault(form.current, found, draft);
  }, [action.error]);

  return (
    <Page name="Create a topic">
      <p>
        <Link href="/topics">All topics</Link>
      </p>
      <form ref={form} noValidate onSubmit={submit}>
        {fields.map((field) => (
          <TopicField
            key={field.name}
            {...field}
            value={draft[field.name]}
            fault={faults[field.name]}
            warnings={warnings.filter(({ filter }) => filter === field.name)}
            structure={structure}
            onChange={(value) => {
              setServerFaults({});
              setDraft({ ...draft, [field.name]: value });
            }}
          />
        ))}
        {faults.topic !== undefined && (
          <article class="failure">
            <p role="alert">{faults.topic}</p>
          </article>
        )}
        {action.error !== undefined && !hasFaultDetails && <ErrorMessage error={action.error} />}
        <button type="submit" aria-busy={action.busy} disabled={action.busy}>
          Create
        </button>
      </form>
    </Page>
  );
}

/** Focuses the first field with a fault; in a filter, the position of the fault. */
function focusFirstFault(form: HTMLFormElement | null, faults: Faults, draft: Draft): void {
  const first = fields.find(({ name }) => faults[name] !== undefined)?.name;
  const element = first === undefined ? undefined : form?.elements.namedItem(first);
  if (first === undefined || !(element instanceof HTMLElement)) return;
  element.focus();
  if (!(element instanceof HTMLTextAreaElement)) return;
  const { position } = findFilterError(draft[first]) ?? {};
  if (position !== undefined) element.setSelectionRange(position, position);
}

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
  readonly onChange: (value: string) => void;
}

/** A field with its fault below it, or for a valid filter its description. */
function TopicField({
  name,
  label,
  hint = "",
  value,
  fault,
  warnings,
  structure,
  onChange,
}: TopicFieldProps) {
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
      {isFilter && <Completions member={name} text={value} structure={structure} onChoose={complete} />}
    </div>
  );
}
