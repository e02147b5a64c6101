import { useState } from "preact/hooks";

import type { PickResponse } from "../../../schemas/pick.ts";
import { ask } from "../api.ts";
import { Page } from "../components/page.tsx";
import { Failure } from "../components/error-message.tsx";
import { ExplanationTable } from "./picker/explanation.tsx";
import { samples } from "./picker/samples.ts";
import { Topics } from "./picker/topics.tsx";

const pickPath = "/api/svc_api_notif_mgmt/topic/pick";
const textOf = (event: object): string => JSON.stringify(event, null, 2);

/** Which topics an event belongs to, and why. */
export function Picker() {
  const [text, setText] = useState(textOf(samples[0].event));
  const [externalId, setExternalId] = useState(() => new URLSearchParams(location.search).get("topic") ?? "");
  const [answer, setAnswer] = useState<PickResponse>();
  const [error, setError] = useState<unknown>();
  const [asking, setAsking] = useState(false);
  const fault = faultOf(text);

  function pick(explain?: string): void {
    const query = explain === undefined ? "" : `?explain=${encodeURIComponent(explain)}`;
    setAsking(true);
    setError(undefined);
    ask<PickResponse>(pickPath + query, JSON.parse(text))
      .then(setAnswer, setError)
      .finally(() => {
        setAsking(false);
      });
  }

  return (
    <Page name="Picker">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          pick();
        }}
      >
        <label>
          Begin with a sample
          <select
            onChange={({ currentTarget: { selectedIndex } }) => {
              setText(textOf((samples[selectedIndex] ?? samples[0]).event));
            }}
          >
            {samples.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
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
          <small id="fault">{fault ?? "JSON, as the broker sends it."}</small>
        </label>
        <button type="submit" disabled={fault !== undefined} aria-busy={asking}>
          Find its topics
        </button>
      </form>
      {error !== undefined && <Failure error={error} />}
      {answer !== undefined && <Topics topics={answer.topics} explain={pick} />}
      {answer?.explain !== undefined && <ExplanationTable explanation={answer.explain} />}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          pick(externalId);
        }}
      >
        <label>
          Why is a topic not among them?
          <input
            placeholder="Its external id"
            required
            value={externalId}
            onInput={({ currentTarget: { value } }) => {
              setExternalId(value);
            }}
          />
        </label>
        <button type="submit" class="secondary" disabled={fault !== undefined}>
          Explain
        </button>
      </form>
    </Page>
  );
}

/** Why a text is no event; undefined when it is one. */
function faultOf(text: string): string | undefined {
  try {
    const event: unknown = JSON.parse(text);
    if (typeof event === "object" && event !== null && !Array.isArray(event)) return undefined;
    return "An event is a JSON object: { … }.";
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : ""}`;
  }
}
