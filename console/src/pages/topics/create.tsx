import { useEffect, useRef, useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";

import type { TopicResponse } from "../../../../schemas/topic.ts";
import { ApiError, ask } from "../../api.ts";
import { useAction } from "../../query.ts";
import { Page } from "../../components/page.tsx";
import { Failure } from "../../components/error-message.tsx";
import { Field, type FieldName } from "./field.tsx";
import { emptyDraft, localFaults, remoteFaults, useTaken, type Draft, type Faults } from "./draft.ts";
import { filterFault } from "./filter.tsx";
import { getTopicPath } from "./source.ts";

const fields: readonly { readonly name: FieldName; readonly label: string; readonly hint?: string }[] = [
  { name: "name", label: "Name" },
  { name: "externalId", label: "External id", hint: "Unique, such as a GUID." },
  { name: "namespace", label: "Namespace", hint: "May stay empty." },
  { name: "headerQuery", label: "Header query" },
  { name: "contentQuery", label: "Content query" },
];

/** Makes a topic by hand; what is wrong is said while it is typed. */
export function CreateTopic() {
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const [refused, setRefused] = useState<Faults>({});
  const [tried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const taken = useTaken(draft);
  const doing = useAction();
  const [, go] = useLocation();
  const faults: Faults = { ...taken, ...refused, ...localFaults(draft, { tried }) };
  const isRefused = doing.error instanceof ApiError && doing.error.details.length > 0;

  function submit(): void {
    setTried(true);
    const found = { ...taken, ...localFaults(draft, { tried: true }) };
    if (Object.keys(found).length > 0) {
      focusFault(form.current, found, draft);
      return;
    }
    doing.start(
      () => ask<TopicResponse>("/api/svc_api_notif_mgmt/topic", draft),
      (topic) => {
        go(`/topics/${getTopicPath(topic)}`);
      },
    );
  }

  useEffect(() => {
    if (!(doing.error instanceof ApiError)) return;
    const found = remoteFaults(doing.error.details);
    setRefused(found);
    focusFault(form.current, found, draft);
  }, [doing.error]);

  return (
    <Page name="Create a topic">
      <p>
        <Link href="/topics">All topics</Link>
      </p>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {fields.map((field) => (
          <Field
            key={field.name}
            {...field}
            value={draft[field.name]}
            fault={faults[field.name]}
            typed={(value) => {
              setRefused({});
              setDraft({ ...draft, [field.name]: value });
            }}
          />
        ))}
        {faults.whole !== undefined && (
          <article class="failure">
            <p role="alert">{faults.whole}</p>
          </article>
        )}
        {doing.error !== undefined && !isRefused && <Failure error={doing.error} />}
        <button type="submit" aria-busy={doing.busy} disabled={doing.busy}>
          Create
        </button>
      </form>
    </Page>
  );
}

/** Leads to the first field with a fault, and in a filter to the place. */
function focusFault(form: HTMLFormElement | null, faults: Faults, draft: Draft): void {
  const first = fields.find(({ name }) => faults[name] !== undefined)?.name;
  const element = first === undefined ? undefined : form?.elements.namedItem(first);
  if (first === undefined || !(element instanceof HTMLElement)) return;
  element.focus();
  if (!(element instanceof HTMLTextAreaElement)) return;
  const { position } = filterFault(draft[first]) ?? {};
  if (position !== undefined) element.setSelectionRange(position, position);
}
