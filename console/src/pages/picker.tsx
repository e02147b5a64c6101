import { useState } from "preact/hooks";

import type { PickResponse } from "../../../schemas/pick.ts";
import { api } from "../api.ts";
import { Page } from "../components/page.tsx";
import { ErrorMessage } from "../components/error-message.tsx";
import { Form } from "../components/form.tsx";
import { TextField } from "../components/text-field.tsx";
import { useAction } from "../query.ts";
import { ExplanationTable } from "./picker/explanation.tsx";
import { samples } from "./picker/samples.ts";
import { MatchingTopics } from "./picker/topics.tsx";

const pickPath = "/api/svc_api_notif_mgmt/topic/pick";
const formatEvent = (event: object): string => JSON.stringify(event, null, 2);

export function Picker() {
  const [text, setText] = useState(formatEvent(samples[0].event));
  const [response, setResponse] = useState<PickResponse>();
  const { busy, error, run } = useAction();
  const fault = findJsonFault(text);

  function pick(explain?: string): void {
    const query = explain === undefined ? "" : `?explain=${encodeURIComponent(explain)}`;
    run(() => api.postJson<PickResponse>(pickPath + query, text), setResponse);
  }

  return (
    <Page name="Picker">
      <Form
        onSubmit={() => {
          pick();
        }}
      >
        <SampleField onChange={setText} />
        <label>
          Event
          <textarea
            class="code"
            rows={14}
            spellcheck={false}
            value={text}
            aria-invalid={fault === undefined ? undefined : true}
            aria-describedby="fault"
            onInput={({ currentTarget: { value } }) => {
              setText(value);
            }}
          />
          <small id="fault">{fault ?? "JSON, as sent by the broker."}</small>
        </label>
        <button type="submit" disabled={fault !== undefined} aria-busy={busy}>
          Find topics
        </button>
      </Form>
      {error !== undefined && <ErrorMessage error={error} />}
      {response !== undefined && <MatchingTopics {...response} explain={pick} />}
      {response?.explain !== undefined && <ExplanationTable explanation={response.explain} />}
      <ExplainForm disabled={fault !== undefined} onSubmit={pick} />
    </Page>
  );
}

const SampleField = ({ onChange }: { readonly onChange: (event: string) => void }) => (
  <label>
    Sample
    <select
      onChange={({ currentTarget: { selectedIndex } }) => {
        onChange(formatEvent((samples[selectedIndex] ?? samples[0]).event));
      }}
    >
      {samples.map(({ name }) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  </label>
);

interface ExplainFormProps {
  readonly disabled: boolean;
  readonly onSubmit: (externalId: string) => void;
}

function ExplainForm({ disabled, onSubmit }: ExplainFormProps) {
  const [externalId, setExternalId] = useState(() => new URLSearchParams(location.search).get("topic") ?? "");
  return (
    <Form
      onSubmit={() => {
        onSubmit(externalId);
      }}
    >
      <TextField
        label="Why does a topic not match?"
        placeholder="External id of the topic"
        required
        value={externalId}
        onChange={setExternalId}
      />
      <button type="submit" class="secondary" disabled={disabled}>
        Explain
      </button>
    </Form>
  );
}

/** Returns why a text is not an event; undefined if it is one. */
function findJsonFault(text: string): string | undefined {
  try {
    const event: unknown = JSON.parse(text);
    if (typeof event === "object" && event !== null && !Array.isArray(event)) return undefined;
    return "An event must be a JSON object: { … }.";
  } catch (error) {
    return `Invalid JSON: ${error instanceof Error ? error.message : ""}`;
  }
}
