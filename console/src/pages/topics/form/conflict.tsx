import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { TopicDetail } from "../../../../../schemas/topics/view.ts";
import { api, ApiError } from "../../../api.ts";
import { TimeAgo } from "../../../components/time-ago.tsx";
import { useAction, type Action } from "../../../query.ts";

interface VersionedSave extends Pick<Action, "error" | "busy"> {
  /** The topic as somebody else has changed it; undefined without a conflict. */
  readonly conflict: TopicDetail | undefined;
  readonly save: (work: () => Promise<TopicDetail>, onSaved: (topic: TopicDetail) => void) => void;
  readonly resolve: () => void;
}

/** Saves a topic on condition of its version. If somebody else was faster, loads what they have stored. */
export function useVersionedSave(path: string): VersionedSave {
  const action = useAction();
  const [conflict, setConflict] = useState<TopicDetail>();
  return {
    error: action.error,
    busy: action.busy,
    conflict,
    save(work, onSaved) {
      action.run(
        async () => {
          try {
            return { isSaved: true, topic: await work() };
          } catch (error) {
            if (!(error instanceof ApiError) || error.status !== 412) throw error;
            return { isSaved: false, topic: await api.get<TopicDetail>(path) };
          }
        },
        ({ isSaved, topic }) => {
          setConflict(isSaved ? undefined : topic);
          if (isSaved) onSaved(topic);
        },
      );
    },
    resolve: () => {
      setConflict(undefined);
    },
  };
}

interface ConflictProps {
  /** "by anna". */
  readonly by: string;
  readonly on: string;
  readonly version: number;
  /** What they changed. */
  readonly children: ComponentChildren;
  readonly onKeep: () => void;
  readonly onDiscard: () => void;
}

/** Says who was faster, and what to do about it. */
export function Conflict({ by, on, version, children, onKeep, onDiscard }: ConflictProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The button that was pressed is disabled now.
  useEffect(() => heading.current?.focus(), []);
  return (
    <article class="failure" aria-labelledby="conflict">
      <div role="alert">
        <h2 id="conflict" ref={heading} tabIndex={-1}>
          Somebody else has changed this topic
        </h2>
        <p>
          Version {version} was stored <TimeAgo time={on} />, {by}. Nothing of yours was saved, and what you
          entered is kept.
        </p>
      </div>
      {children}
      <div class="topic-actions">
        <button type="button" onClick={onKeep}>
          Continue from version {version}
        </button>
        <button type="button" class="secondary outline" onClick={onDiscard}>
          Discard what I entered
        </button>
      </div>
    </article>
  );
}
