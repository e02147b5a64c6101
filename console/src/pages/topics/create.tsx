import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";

import type { TopicResponse } from "../../../../schemas/topics/topic.ts";
import { api } from "../../api.ts";
import { Page } from "../../components/page.tsx";
import { useAction } from "../../query.ts";
import { DefinitionForm, type DefinitionField } from "./form/definition-form.tsx";
import type { Draft } from "./form/draft.ts";
import { findFilterError } from "./filter.tsx";
import { PreviewPanel } from "./impact.tsx";
import { getTopicPath } from "./source.ts";

const fields: readonly DefinitionField[] = [
  { name: "name", label: "Name" },
  { name: "externalId", label: "External id", hint: "Must be unique, such as a GUID." },
  { name: "namespace", label: "Namespace", hint: "Optional." },
  { name: "headerQuery", label: "Header query" },
  { name: "contentQuery", label: "Content query" },
];

const isValid = (filter: string): boolean => findFilterError(filter) === undefined;

export function CreateTopic({ from }: { readonly from: Draft }) {
  const [draft, setDraft] = useState(from);
  const { externalId, namespace, headerQuery, contentQuery } = draft;
  const action = useAction();
  const [, navigate] = useLocation();
  return (
    <Page name="Create a topic">
      <p>
        <Link href="/topics">All topics</Link>
      </p>
      <DefinitionForm
        class="columns even"
        fields={fields}
        draft={draft}
        checked={draft}
        error={action.error}
        onChange={(member, value) => {
          setDraft({ ...draft, [member]: value });
        }}
        onSubmit={() => {
          action.run(
            () => api.post<TopicResponse>("/api/svc_api_notif_mgmt/topic", draft),
            (topic) => {
              navigate(`/topics/${getTopicPath(topic)}`);
            },
          );
        }}
      >
        <article class="rows-2" aria-labelledby="events">
          <h2 id="events">Its events</h2>
          <p>How many of the last events belong to it?</p>
          <PreviewPanel
            topic={{ externalId, namespace, headerQuery, contentQuery }}
            canStart={externalId !== "" && [headerQuery, contentQuery].every(isValid)}
          />
        </article>
        <div>
          <button type="submit" aria-busy={action.busy} disabled={action.busy}>
            Create
          </button>
        </div>
      </DefinitionForm>
    </Page>
  );
}
