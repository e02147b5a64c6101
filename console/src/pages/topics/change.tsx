import { useMemo, useState } from "preact/hooks";

import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { api } from "../../api.ts";
import { Announcement } from "./announcement.tsx";
import { Conflict, useVersionedSave } from "./form/conflict.tsx";
import { DefinitionForm } from "./form/definition-form.tsx";
import {
  DefinitionDifference,
  definitionMembers,
  isSameDefinition,
  memberLabels,
  Text,
  type Definition,
  type DefinitionMember,
} from "./difference.tsx";
import type { Draft, DraftMember } from "./form/draft.ts";
import { describeEffect } from "./effect.ts";
import { PreviewPanel } from "./impact.tsx";
import { Managed, withForce } from "./managed.tsx";
import { describeSource, getTopicPath, topicsPath } from "./source.ts";

const fields = definitionMembers.map((name) => ({ name, label: memberLabels[name] }));
const isMember = (name: DraftMember): name is DefinitionMember => name !== "externalId";

interface ChangeProps {
  readonly topic: TopicDetail;
  /** An earlier version to start from. */
  readonly from?: Definition | undefined;
  readonly onChange: (topic: TopicDetail) => void;
}

/** Edits the definition of a topic, and shows what that does to its events before it is stored. */
export function Change({ topic, from, onChange }: ChangeProps) {
  // Members that were not touched follow the stored version.
  const [edited, setEdited] = useState<Partial<Definition>>(() => from ?? {});
  const [notice, setNotice] = useState("");
  const [isForced, setIsForced] = useState(false);
  const path = `${topicsPath}/${getTopicPath(topic)}`;
  const { save, error, busy, conflict, resolve } = useVersionedSave(path);
  const draft = useMemo(() => toDraft(topic, edited), [topic, edited]);
  const isLocked = topic.details.set !== null && !isForced;
  const isChanged = !isSameDefinition(draft, topic);
  const checked = useMemo(() => (isChanged ? { ...draft, externalId: "" } : undefined), [draft, isChanged]);

  function leave(current: TopicDetail, kept: Partial<Definition>): void {
    resolve();
    setEdited(kept);
    onChange(current);
  }

  return (
    <>
      <p role="status">{notice}</p>
      {conflict !== undefined && (
        <Conflict
          by={describeSource(conflict.source)}
          on={conflict.updatedOn}
          version={conflict.version}
          onKeep={() => {
            leave(conflict, edited);
          }}
          onDiscard={() => {
            leave(conflict, {});
          }}
        >
          <DefinitionDifference before={topic} after={conflict} />
        </Conflict>
      )}
      <DefinitionForm
        class="columns even"
        fields={fields}
        draft={draft}
        checked={checked}
        error={error}
        showDifference={(member) =>
          isMember(member) &&
          draft[member] !== topic[member] && (
            <>
              <span class="quiet">Stored:</span>
              <Text member={member} text={topic[member]} other={draft[member]} side="was" />
            </>
          )
        }
        onChange={(member, value) => {
          setNotice("");
          setEdited({ ...edited, [member]: value });
        }}
        onSubmit={() => {
          save(
            () => api.put<TopicDetail>(withForce(path, isForced), draft, topic.version),
            (saved) => {
              setNotice(`Version ${saved.version} is stored.`);
              leave(saved, {});
            },
          );
        }}
      >
        <Effect topic={topic} draft={draft} />
        {topic.source.kind === "announcement" ? (
          <Announcement definition={draft} kafkaTopic={topic.source.topic} />
        ) : (
          <div>
            <Managed details={topic.details} isForced={isForced} onForce={setIsForced} />
            <div class="topic-actions">
              <button
                type="submit"
                aria-busy={busy}
                disabled={busy || !isChanged || conflict !== undefined || isLocked}
              >
                Save as version {topic.version + 1}
              </button>
              <button
                type="button"
                class="secondary outline"
                disabled={!isChanged}
                onClick={() => {
                  setEdited({});
                }}
              >
                Undo
              </button>
            </div>
          </div>
        )}
      </DefinitionForm>
    </>
  );
}

const toDraft = (
  { externalId, name, namespace, headerQuery, contentQuery }: TopicDetail,
  edited: Partial<Definition>,
): Draft => ({ externalId, name, namespace, headerQuery, contentQuery, ...edited });

interface EffectProps {
  readonly topic: TopicDetail;
  readonly draft: Draft;
}

/** What the draft does to the events of the topic: what follows from the filters, and a test with events. */
function Effect({ topic, draft }: EffectProps) {
  const { externalId, namespace, headerQuery, contentQuery } = draft;
  const effect = describeEffect(topic, draft);
  return (
    <article class="rows-2" aria-labelledby="effect">
      <h2 id="effect">Effect</h2>
      <p aria-live="polite">
        {effect === undefined ? (
          "A filter is not valid."
        ) : (
          <>
            <strong>{effect.title}.</strong> {effect.text}
          </>
        )}
      </p>
      <PreviewPanel
        topic={{ externalId, namespace, headerQuery, contentQuery }}
        canStart={effect !== undefined}
      />
    </article>
  );
}
