import type { TopicLifecycle } from "../../../schemas/topics/details.ts";
import type { AppliedVersion, StoredDetails } from "../../topics/details/details.ts";

/** The details of a topic. A member that says nothing is absent; indexes have null for it. */
export interface DetailsRecord {
  /** The topic's external id. */
  _id: string;
  version: number;
  namespace: string;
  owner?: string;
  description?: string;
  contact?: string;
  tags?: string[];
  /** As `name=value`; a name has no equals sign. */
  labels?: string[];
  lifecycle: TopicLifecycle;
  sunset?: string;
  replaced_by?: string;
  consumers?: { name: string; contact: string }[];
  protected?: true;
  words: string[];
  set?: string;
  path?: string;
  applied?: { version: number; digest: string; plan: string; on: Date; topic_id?: string };
  changed_on: Date;
  changed_by: string;
  /** The `_id` of what they replaced among the descriptions. */
  replaces?: string;
}

export function toDetailsRecord(one: StoredDetails): DetailsRecord {
  const { membership } = one;
  return {
    _id: one.externalId,
    version: one.version,
    namespace: one.namespace,
    ...(one.owner !== "" && { owner: one.owner }),
    ...(one.description !== "" && { description: one.description }),
    ...(one.contact !== "" && { contact: one.contact }),
    ...(one.tags.length > 0 && { tags: [...one.tags] }),
    ...(one.labels.length > 0 && { labels: one.labels.map((label) => label.join("=")) }),
    lifecycle: one.lifecycle,
    ...(one.sunset !== null && { sunset: one.sunset }),
    ...(one.replacedBy !== "" && { replaced_by: one.replacedBy }),
    ...(one.consumers.length > 0 && { consumers: one.consumers.map((consumer) => ({ ...consumer })) }),
    ...(one.protected && { protected: true }),
    words: [...one.words],
    ...(membership && { set: membership.set }),
    ...(membership?.path !== undefined && { path: membership.path }),
    ...(membership?.applied && { applied: toAppliedRecord(membership.applied) }),
    changed_on: one.changedOn,
    changed_by: one.changedBy,
    ...(one.replaces !== undefined && { replaces: one.replaces }),
  };
}

export function fromDetailsRecord(record: DetailsRecord): StoredDetails {
  const { set, path, applied } = record;
  return {
    externalId: record._id,
    version: record.version,
    namespace: record.namespace,
    owner: record.owner ?? "",
    description: record.description ?? "",
    contact: record.contact ?? "",
    tags: record.tags ?? [],
    labels: (record.labels ?? []).map(parseLabel),
    lifecycle: record.lifecycle,
    sunset: record.sunset ?? null,
    replacedBy: record.replaced_by ?? "",
    consumers: record.consumers ?? [],
    protected: record.protected ?? false,
    words: record.words,
    membership: set === undefined ? undefined : { set, path, applied: applied && fromAppliedRecord(applied) },
    changedOn: record.changed_on,
    changedBy: record.changed_by,
    ...(record.replaces !== undefined && { replaces: record.replaces }),
  };
}

const toAppliedRecord = ({
  externalId,
  ...applied
}: AppliedVersion): NonNullable<DetailsRecord["applied"]> => ({
  ...applied,
  ...(externalId !== undefined && { topic_id: externalId }),
});

const fromAppliedRecord = ({
  topic_id,
  ...applied
}: NonNullable<DetailsRecord["applied"]>): AppliedVersion => ({
  ...applied,
  ...(topic_id !== undefined && { externalId: topic_id }),
});

function parseLabel(label: string): readonly [string, string] {
  const at = label.indexOf("=");
  return [label.slice(0, at), label.slice(at + 1)];
}
