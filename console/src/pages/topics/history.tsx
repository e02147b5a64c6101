import { useEffect, useState } from "preact/hooks";
import { Link } from "wouter-preact";

import type { VersionList, VersionView } from "../../../../schemas/topic-versions.ts";
import type { TopicDetail } from "../../../../schemas/topic-view.ts";
import { api } from "../../api.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatTime, formatTimeRange, TimeAgo } from "../../components/time-ago.tsx";
import { useAction } from "../../query.ts";
import { useRight } from "../../session.ts";
import { Comparison } from "./comparison.tsx";
import { DefinitionDifference, isSameDefinition } from "./difference.tsx";
import { describeEffect } from "./effect.ts";
import { RestoreButton } from "./restore.tsx";
import { describeSource, getTopicPath, topicsPath } from "./source.ts";

interface HistoryProps {
  readonly topic: TopicDetail;
  readonly onChange: (topic: TopicDetail) => void;
}

/** The versions of a topic, the latest first, each with what it changed. */
export function History({ topic, onChange }: HistoryProps) {
  const { versions, hasMore, busy, error, load } = useVersions(topic);
  return (
    <>
      {versions.length > 1 && <Comparison versions={versions} />}
      <ol class="entries">
        {versions.map((version, at) => (
          <Version
            key={`${version.id} ${version.version}`}
            version={version}
            before={findBefore(version, versions.slice(at + 1))}
            topic={topic}
            onChange={onChange}
          />
        ))}
      </ol>
      {error !== undefined && <ErrorMessage error={error} retry={load} />}
      {busy && <p aria-busy="true">Loading …</p>}
      {hasMore && !busy && (
        <button type="button" class="secondary outline" onClick={load}>
          Show older versions
        </button>
      )}
      {!hasMore && (versions.at(-1)?.version ?? 1) > 1 && (
        <p class="quiet">Older versions are not kept any more, or are from before the history began.</p>
      )}
    </>
  );
}

/** The version that another one replaced, if it is loaded. */
const findBefore = ({ id }: VersionView, older: readonly VersionView[]): VersionView | undefined =>
  older.find((one) => one.id === id);

const versionsPerPage = 20;

/** Loads versions page by page; from the first one again when the topic changes. */
function useVersions(topic: TopicDetail) {
  const [loaded, setLoaded] = useState<VersionList>({ versions: [], next: null });
  const { run, busy, error } = useAction();
  function read(after: string | null, before: readonly VersionView[]): void {
    const query = new URLSearchParams({ limit: String(versionsPerPage), ...(after !== null && { after }) });
    run(
      () => api.get<VersionList>(`${topicsPath}/${getTopicPath(topic)}/versions?${query.toString()}`),
      ({ versions, next }) => {
        setLoaded({ versions: [...before, ...versions], next });
      },
    );
  }
  useEffect(() => {
    read(null, []);
  }, [topic.externalId, topic.version, topic.state]);
  return {
    versions: loaded.versions,
    hasMore: loaded.next !== null,
    busy,
    error,
    load: () => {
      read(loaded.next, loaded.versions);
    },
  };
}

interface VersionProps {
  readonly version: VersionView;
  readonly before: VersionView | undefined;
  readonly topic: TopicDetail;
  readonly onChange: (topic: TopicDetail) => void;
}

function Version({ version, before, topic, onChange }: VersionProps) {
  const canWrite = useRight("topics.write");
  const { validFrom, validTo, source, transient } = version;
  const isCurrent = validTo === undefined;
  const isRestorable = version.id === topic.id && !isSameDefinition(version, topic);
  return (
    <li>
      <div class="with-action">
        <h2>
          Version {version.version} {isCurrent && <span class="badge good">current</span>}
          {transient && <span class="badge plain">never in use</span>}
          {version.id !== topic.id && <span class="badge plain">of an earlier topic</span>}
        </h2>
        <span class="quiet">
          {isCurrent ? `since ${formatTime(validFrom)}` : formatTimeRange(validFrom, validTo)}
        </span>
      </div>
      <p>
        {describeStart(before)} {describeSource(source)}.
      </p>
      {before !== undefined && <Changes before={before} after={version} />}
      <End version={version} />
      {canWrite && isRestorable && (
        <p class="topic-actions">
          {topic.source.kind === "http" && (
            <RestoreButton version={version} topic={topic} onRestored={onChange} />
          )}
          {topic.state === "active" && (
            <Link href={`/topics/${getTopicPath(topic)}?tab=change&from=${version.version}`}>
              {topic.source.kind === "http" ? "Edit and test it first" : "Prepare an announcement of it"}
            </Link>
          )}
        </p>
      )}
    </li>
  );
}

const starts: Readonly<Record<NonNullable<VersionView["endedAs"]>, string>> = {
  changed: "Changed",
  renamed: "Renamed",
  adopted: "Taken over by the channel with the same definition,",
  retired: "Announced again",
  disabled: "Enabled",
};

const describeStart = (before: VersionView | undefined): string =>
  before === undefined ? "Stored" : starts[before.endedAs ?? "changed"];

function Changes({ before, after }: { readonly before: VersionView; readonly after: VersionView }) {
  const isFilterChange =
    before.headerQuery !== after.headerQuery || before.contentQuery !== after.contentQuery;
  const effect = isFilterChange ? describeEffect(before, after) : undefined;
  return (
    <>
      {before.externalId !== after.externalId && (
        <p>
          Renamed from <code>{before.externalId}</code> to <code>{after.externalId}</code>.
        </p>
      )}
      <DefinitionDifference before={before} after={after} />
      {effect !== undefined && (
        <p class="quiet">
          {effect.title}: {effect.text}
        </p>
      )}
    </>
  );
}

/** How the last version of a topic that is not active ended. */
function End({ version: { endedAs, endedBy, validTo } }: { readonly version: VersionView }) {
  if (endedBy === undefined || validTo === undefined) return null;
  if (endedAs !== "retired" && endedAs !== "disabled") return null;
  return (
    <p>
      {endedAs === "retired" ? "Retired" : "Disabled"} <TimeAgo time={validTo} />, {describeSource(endedBy)}.
    </p>
  );
}
