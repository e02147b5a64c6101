import { useEffect, useState } from "preact/hooks";
import { Link } from "wouter-preact";

import type {
  describedMembers,
  DescriptionView,
  VersionList,
  VersionView,
} from "../../../../schemas/topics/versions.ts";
import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { api } from "../../api.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatTime, formatTimeRange, TimeAgo } from "../../components/time-ago.tsx";
import { useAction } from "../../query.ts";
import { useRight } from "../../session.ts";
import { Comparison } from "./comparison.tsx";
import { detailsNames } from "./form/details-form.tsx";
import { DefinitionDifference, isSameDefinition, Text } from "./difference.tsx";
import { describeEffect } from "./effect.ts";
import { RestoreButton } from "./restore.tsx";
import { describeSource, formatUser, getTopicPath, topicsPath } from "./source.ts";

interface HistoryProps {
  readonly topic: TopicDetail;
  readonly onChange: (topic: TopicDetail) => void;
}

/** The versions of a topic, the latest first, each with what it changed. */
export function History({ topic, onChange }: HistoryProps) {
  const { entries, hasMore, busy, error, load } = useHistory(topic);
  const versions = entries.filter((one): one is VersionView => !isDescription(one));
  return (
    <>
      {versions.length > 1 && <Comparison versions={versions} />}
      <ol class="entries">
        {entries.map((entry) =>
          isDescription(entry) ? (
            <DescriptionEntry key={`${entry.externalId} ${entry.changedOn}`} description={entry} />
          ) : (
            <Version
              key={`${entry.id} ${entry.version}`}
              version={entry}
              before={findBefore(entry, versions.slice(versions.indexOf(entry) + 1))}
              topic={topic}
              onChange={onChange}
            />
          ),
        )}
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

type HistoryEntry = VersionView | DescriptionView;
const isDescription = (entry: HistoryEntry): entry is DescriptionView => "action" in entry;

/** The version that another one replaced, if it is loaded. */
const findBefore = ({ id }: VersionView, older: readonly VersionView[]): VersionView | undefined =>
  older.find((one) => one.id === id);

const entriesPerPage = 20;

/** Loads the history page by page; from the latest entry again when the topic changes. */
function useHistory(topic: TopicDetail) {
  const [loaded, setLoaded] = useState<VersionList>({ versions: [], next: null });
  const { run, busy, error } = useAction();
  function read(after: string | null, before: readonly HistoryEntry[]): void {
    const query = new URLSearchParams({ limit: String(entriesPerPage), ...(after !== null && { after }) });
    run(
      () => api.get<VersionList>(`${topicsPath}/${getTopicPath(topic)}/versions?${query.toString()}`),
      ({ versions, next }) => {
        setLoaded({ versions: [...before, ...versions], next });
      },
    );
  }
  useEffect(() => {
    read(null, []);
  }, [topic.externalId, topic.version, topic.state, topic.details.version]);
  return {
    entries: loaded.versions,
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

/** A change of the details. */
function DescriptionEntry({ description }: { readonly description: DescriptionView }) {
  const { version, changedOn, changedBy, changes } = description;
  return (
    <li>
      <div class="with-action">
        <h2>Details {version}</h2>
        <span class="quiet">{formatTime(changedOn)}</span>
      </div>
      <p>Described by {formatUser(changedBy)}.</p>
      {changes === null && <p class="quiet">What the details were before is not kept any more, or hidden.</p>}
      <dl class="difference">
        {changes?.map(({ member, from, to }) => (
          <div key={member}>
            <dt>{detailsLabels[member]}</dt>
            <dd>
              <Text member={member} text={formatValue(from)} other={formatValue(to)} side="was" />
              <Text member={member} text={formatValue(to)} other={formatValue(from)} side="now" />
            </dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

const detailsLabels: Readonly<Record<(typeof describedMembers)[number], string>> = {
  externalId: "External id",
  namespace: "Namespace",
  ...detailsNames,
  consumers: "Consumers",
  set: "Set",
  path: "File",
};

/** Formats the value of a member: lists and labels with one item per line. */
function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map((one: unknown) => toParts(one).join(" ")).join("\n");
  if (value === null || typeof value !== "object") return toParts(value).join();
  return Object.entries(value)
    .map((pair) => pair.join("="))
    .join("\n");
}

/** The parts of a consumer, or of a list of one. */
function toParts(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [];
  if (typeof value === "object") return Object.values(value).flatMap(toParts);
  return [typeof value === "string" ? value : JSON.stringify(value)];
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
