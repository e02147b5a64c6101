import {
  noDetails,
  pickDetails,
  type SetMembership,
  type StoredDetails,
  type TopicDetails,
} from "../../topics/details/details.ts";

/** The details of a topic. A member that says nothing is absent; indexes have null for it. */
export interface DetailsRecord
  extends Partial<Omit<TopicDetails, "labels" | "lifecycle" | "replacedBy">>, Partial<SetMembership> {
  /** The topic's external id. */
  _id: string;
  version: number;
  namespace: string;
  /** As `name=value`; a name has no equals sign. */
  labels?: string[];
  lifecycle: TopicDetails["lifecycle"];
  replaced_by?: string;
  words: string[];
  changed_on: Date;
  changed_by: string;
  /** The `_id` of what they replaced among the descriptions. */
  replaces?: string;
}

export function toDetailsRecord(one: StoredDetails): DetailsRecord {
  const { externalId, version, namespace, words, membership, changedOn, changedBy, replaces } = one;
  const { labels, lifecycle, replacedBy, ...others } = pickDetails(one);
  const pairs = Object.entries(labels).map((label) => label.join("="));
  return {
    ...{ _id: externalId, version, namespace, lifecycle },
    ...dropEmpty({ ...others, labels: pairs, replaced_by: replacedBy }),
    words: [...words],
    ...(membership && dropEmpty(membership)),
    ...{ changed_on: changedOn, changed_by: changedBy },
    ...(replaces !== undefined && { replaces }),
  };
}

const dropEmpty = <T extends object>(members: T): Partial<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => !isEmpty(value))) as Partial<T>;

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === "" ||
  value === null ||
  value === false ||
  (Array.isArray(value) && value.length === 0);

export function fromDetailsRecord(record: DetailsRecord): StoredDetails {
  const { labels = [], replaced_by: replacedBy = "", set, path, applied, replaces } = record;
  return {
    ...pickDetails({
      ...{ ...noDetails, ...record, replacedBy },
      labels: Object.fromEntries(labels.map(parseLabel)),
    }),
    externalId: record._id,
    ...{ version: record.version, namespace: record.namespace, words: record.words },
    membership: set === undefined ? undefined : { set, path, applied },
    ...{ changedOn: record.changed_on, changedBy: record.changed_by },
    ...(replaces !== undefined && { replaces }),
  };
}

function parseLabel(label: string): readonly [string, string] {
  const at = label.indexOf("=");
  return [label.slice(0, at), label.slice(at + 1)];
}
