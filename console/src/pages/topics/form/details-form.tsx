import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";

import type { TopicDetailsBody, TopicDetailsView } from "../../../../../schemas/topics/details.ts";
import type { TopicDetail } from "../../../../../schemas/topics/view.ts";
import { api } from "../../../api.ts";
import { ErrorMessage } from "../../../components/error-message.tsx";
import { Form } from "../../../components/form.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { Managed, withForce } from "../managed.tsx";
import { Conflict, useVersionedSave } from "./conflict.tsx";
import { formatUser, getTopicPath, topicsPath } from "../source.ts";

/** The details as they are entered. */
interface Entered {
  readonly owner: string;
  readonly description: string;
  readonly contact: string;
  /** With spaces between them. */
  readonly tags: string;
  /** One per line. */
  readonly labels: string;
  readonly lifecycle: string;
  readonly sunset: string;
  readonly replacedBy: string;
  /** One per line: the name, then a comma and the contact. */
  readonly consumers: string;
  readonly protected: boolean;
}

const toEntered = (details: TopicDetailsView): Entered => ({
  owner: details.owner,
  description: details.description,
  contact: details.contact,
  tags: details.tags.join(" "),
  labels: Object.entries(details.labels)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n"),
  lifecycle: details.lifecycle,
  sunset: details.sunset ?? "",
  replacedBy: details.replacedBy,
  consumers: details.consumers
    .map(({ name, contact = "" }) => (contact === "" ? name : `${name}, ${contact}`))
    .join("\n"),
  protected: details.protected,
});

const toLines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Splits a line at the first separator. */
function splitAt(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

const toBody = ({ tags, labels, lifecycle, sunset, consumers, ...others }: Entered): TopicDetailsBody => ({
  ...others,
  tags: tags.split(/[\s,]+/u).filter((tag) => tag !== ""),
  labels: Object.fromEntries(toLines(labels).map((line) => splitAt(line, "="))),
  lifecycle: lifecycle === "deprecated" ? "deprecated" : "active",
  sunset: sunset === "" ? null : sunset,
  consumers: toLines(consumers).map((line) => {
    const [name, contact] = splitAt(line, ",");
    return { name, contact };
  }),
});

export const detailsNames = {
  owner: "Owner",
  description: "Description",
  contact: "Contact",
  tags: "Tags",
  labels: "Labels",
  lifecycle: "Lifecycle",
  sunset: "Sunset",
  replacedBy: "Replaced by",
  consumers: "Declared consumers",
  protected: "Protected",
} as const satisfies Record<keyof Entered, string>;
const members = Object.keys(detailsNames) as (keyof Entered)[];

const lifecycles = { active: "Active", deprecated: "Deprecated" } as const;

interface DetailsFormProps {
  readonly topic: TopicDetail;
  readonly onChange: (topic: TopicDetail) => void;
}

/** Edits what teams say about a topic. */
export function DetailsForm({ topic, onChange }: DetailsFormProps) {
  // Members that were not touched follow the stored version.
  const [edited, setEdited] = useState<Partial<Entered>>({});
  const [isForced, setIsForced] = useState(false);
  const [, navigate] = useLocation();
  const path = `${topicsPath}/${getTopicPath(topic)}`;
  const { save, error, busy, conflict, resolve } = useVersionedSave(path);
  const isLocked = topic.details.set !== null && !isForced;
  const stored = toEntered(topic.details);
  const entered = { ...stored, ...edited };
  const set = <K extends keyof Entered>(member: K, value: Entered[K]): void => {
    setEdited({ ...edited, [member]: value });
  };
  const leave = (): void => {
    navigate(`/topics/${getTopicPath(topic)}`);
  };

  return (
    <Form
      class="narrow-form"
      onSubmit={() => {
        save(
          () =>
            api.put<TopicDetail>(
              withForce(`${path}/details`, isForced),
              toBody(entered),
              topic.details.version,
            ),
          (saved) => {
            onChange({ ...topic, details: saved.details });
            leave();
          },
        );
      }}
    >
      <h2>Details</h2>
      {conflict !== undefined && (
        <Conflict
          by={`by ${formatUser(conflict.details.changedBy)}`}
          on={conflict.details.changedOn ?? conflict.updatedOn}
          version={conflict.details.version}
          onKeep={() => {
            resolve();
            onChange(conflict);
          }}
          onDiscard={() => {
            resolve();
            setEdited({});
            onChange(conflict);
          }}
        >
          <Changes before={stored} after={toEntered(conflict.details)} />
        </Conflict>
      )}
      <Fields entered={entered} set={set} />
      <Managed details={topic.details} isForced={isForced} onForce={setIsForced} />
      {error !== undefined && <ErrorMessage error={error} />}
      <div class="topic-actions">
        <button type="submit" aria-busy={busy} disabled={busy || conflict !== undefined || isLocked}>
          Save
        </button>
        <button type="button" class="secondary outline" onClick={leave}>
          Cancel
        </button>
      </div>
    </Form>
  );
}

function Changes({ before, after }: { readonly before: Entered; readonly after: Entered }) {
  return (
    <dl class="difference">
      {members
        .filter((member) => before[member] !== after[member])
        .map((member) => (
          <div key={member}>
            <dt>{detailsNames[member]}, now</dt>
            <dd>
              <pre class="query now">{String(after[member])}</pre>
            </dd>
          </div>
        ))}
    </dl>
  );
}

interface FieldsProps {
  readonly entered: Entered;
  readonly set: <K extends keyof Entered>(member: K, value: Entered[K]) => void;
}

function Fields({ entered, set }: FieldsProps) {
  return (
    <>
      <Line member="owner" hint="The team or user that is responsible." entered={entered} set={set} />
      <Lines member="description" rows={3} hint="What the topic is for." entered={entered} set={set} />
      <Line member="contact" hint="An address, a channel or a page." entered={entered} set={set} />
      <Line member="tags" hint="In lower case, with spaces between them." entered={entered} set={set} />
      <Lines member="labels" rows={2} hint="One per line: cost-center=4711" entered={entered} set={set} />
      <SelectField
        label={detailsNames.lifecycle}
        options={lifecycles}
        value={entered.lifecycle}
        onChange={(value) => {
          set("lifecycle", value);
        }}
      />
      {entered.lifecycle === "deprecated" && (
        <>
          <TextField
            label={detailsNames.sunset}
            hint="The day from which on the topic may be gone."
            type="date"
            value={entered.sunset}
            onChange={(value) => {
              set("sunset", value);
            }}
          />
          <Line
            member="replacedBy"
            hint="The external id of the topic to use instead."
            entered={entered}
            set={set}
          />
        </>
      )}
      <Lines
        member="consumers"
        rows={2}
        hint="One per line: noc-dashboard, noc@example.org"
        entered={entered}
        set={set}
      />
      <label>
        <input
          type="checkbox"
          checked={entered.protected}
          onChange={({ currentTarget: { checked } }) => {
            set("protected", checked);
          }}
        />
        Protected: a plan cannot disable the topic
      </label>
    </>
  );
}

interface FieldProps extends FieldsProps {
  readonly member: Exclude<keyof Entered, "protected">;
  readonly hint: string;
}

const Line = ({ member, hint, entered, set }: FieldProps) => (
  <TextField
    label={detailsNames[member]}
    hint={hint}
    value={entered[member]}
    onChange={(value) => {
      set(member, value);
    }}
  />
);

const Lines = ({ member, hint, rows, entered, set }: FieldProps & { readonly rows: number }) => (
  <label>
    {detailsNames[member]}
    <textarea
      rows={rows}
      value={entered[member]}
      onInput={({ currentTarget: { value } }) => {
        set(member, value);
      }}
    />
    <small>{hint}</small>
  </label>
);
