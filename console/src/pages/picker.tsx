import type { ComponentChildren } from "preact";
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
  const [record, setRecord] = useState("");
  const [response, setResponse] = useState<PickResponse>();
  const { busy, error, run } = useAction();
  const fault = findJsonFault(text, "An event");
  const recordFault = record.trim() === "" ? undefined : findJsonFault(record, "A record");
  const isFaulty = fault !== undefined || recordFault !== undefined;

  function pick(explain?: string): void {
    const query = new URLSearchParams({
      ...(explain !== undefined && { explain }),
      ...(record.trim() !== "" && { record }),
    });
    const path = query.size === 0 ? pickPath : `${pickPath}?${query.toString()}`;
    run(() => api.postJson<PickResponse>(path, text), setResponse);
  }

  return (
    <Page name="Picker">
      <Form
        onSubmit={() => {
          pick();
        }}
      >
        <SampleField onChange={setText} />
        <JsonField label="Event" rows={14} value={text} fault={fault} onChange={setText}>
          JSON, as sent by the broker.
        </JsonField>
        <details>
          <summary>The record that carries the event</summary>
          <JsonField label="Record" rows={5} value={record} fault={recordFault} onChange={setRecord}>
            For filters on its key, headers or CloudEvents attributes:{" "}
            <code>{'{ "$key": "a", "$header": { "NAME": "a" }, "$ce": { "type": "a" } }'}</code>
          </JsonField>
        </details>
        <button type="submit" disabled={isFaulty} aria-busy={busy}>
          Find topics
        </button>
      </Form>
      {error !== undefined && <ErrorMessage error={error} />}
      {response !== undefined && <MatchingTopics {...response} explain={pick} />}
      {response?.explain !== undefined && <ExplanationTable explanation={response.explain} />}
      <ExplainForm disabled={isFaulty} onSubmit={pick} />
    </Page>
  );
}

interface JsonFieldProps {
  readonly label: string;
  readonly rows: number;
  readonly value: string;
  readonly fault: string | undefined;
  readonly onChange: (value: string) => void;
  /** Shown below a valid text. */
  readonly children: ComponentChildren;
}

const JsonField = ({ label, rows, value, fault, onChange, children }: JsonFieldProps) => (
  <label>
    {label}
    <textarea
      class="code"
      rows={rows}
      spellcheck={false}
      value={value}
      aria-invalid={fault === undefined ? undefined : true}
      aria-describedby={`about-${label}`}
      onInput={({ currentTarget }) => {
        onChange(currentTarget.value);
      }}
    />
    <small id={`about-${label}`}>{fault ?? children}</small>
  </label>
);

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

/** Returns why a text is not a JSON object; undefined if it is one. */
function findJsonFault(text: string, what: string): string | undefined {
  try {
    const event: unknown = JSON.parse(text);
    if (typeof event === "object" && event !== null && !Array.isArray(event)) return undefined;
    return `${what} must be a JSON object: { … }.`;
  } catch (error) {
    return `Invalid JSON: ${error instanceof Error ? error.message : ""}`;
  }
}
