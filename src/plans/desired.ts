import { hash } from "node:crypto";

import type { Fault } from "@topicsync/lib/errors";
import { findFilterFaults } from "@topicsync/filters";
import type { TopicEntry } from "../../schemas/topics/file.ts";
import { findDetailsFaults, formatDetails, toDetails, type TopicDetails } from "../topics/details/details.ts";
import { toDefinition, type Source, type TopicDefinition } from "../topics/topic.ts";

/** Where something is in a file; line and column start at 1. */
export interface FilePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export const formatPlace = ({ file, line, column }: FilePlace): string => `${file}:${line}:${column}`;

/** What is kept of each topic in the files: a set may have a million. */
export interface DesiredEntry extends FilePlace {
  readonly digest: string;
  readonly isDraft: boolean;
  readonly renamedFrom: string | undefined;
}

/** The topics of a set, as its files want them. */
export interface DesiredSet {
  readonly set: string;
  /** By external id. */
  readonly topics: ReadonlyMap<string, DesiredEntry>;
  readonly files: number;
  /** The files and folders that were read. */
  readonly paths: readonly string[];
  /** Reads some of the topics again, in full. */
  readonly read: (externalIds: ReadonlySet<string>) => AsyncIterable<DesiredTopic>;
}

/** What a file wants a topic to be. */
export interface DesiredTopic {
  readonly externalId: string;
  /** Undefined: an announced topic, whose definition belongs to the channel. */
  readonly definition: TopicDefinition | undefined;
  readonly details: TopicDetails;
  /** The file, relative to the root of the repository. */
  readonly path: string;
  readonly renamedFrom: string | undefined;
  /** Is checked, but not stored. */
  readonly isDraft: boolean;
}

export function toDesiredTopic(entry: TopicEntry, path: string): DesiredTopic {
  const { externalId, name, renamedFrom, lifecycle, ...details } = entry;
  const isDraft = lifecycle === "draft";
  return {
    externalId,
    definition: name === undefined ? undefined : toDefinition({ ...entry, name }),
    details: toDetails(isDraft || lifecycle === undefined ? details : { ...details, lifecycle }),
    path,
    renamedFrom,
    isDraft,
  };
}

/** The faults that the schema does not find. */
export const findDesiredFaults = ({
  externalId,
  definition,
  details,
  renamedFrom,
}: DesiredTopic): Fault[] => [
  ...(definition === undefined ? [] : findFilterFaults(definition)),
  ...findDetailsFaults(externalId, details),
  ...(renamedFrom === externalId
    ? [{ path: "/renamedFrom", message: "is the external id of the topic" }]
    : []),
];

/** 132 bits that stand for a definition. */
export const digestDefinition = (definition: Omit<TopicDefinition, "externalId">): string =>
  digest([definition.name, definition.namespace, definition.headerQuery, definition.contentQuery]);

/** What a set manages about a topic. */
interface ManagedTopic {
  readonly definition?: Omit<TopicDefinition, "externalId"> | undefined;
  readonly details: TopicDetails;
  readonly path?: string | undefined;
}

/** 132 bits that stand for everything that a set manages about a topic. */
export const digestManaged = ({ definition, details, path }: ManagedTopic): string =>
  digest([definition && digestDefinition(definition), formatDetails(details), path]);

/** Whether a topic is as its set wants it. A set need not manage the definition of an announced one. */
export function isManagedAs(
  wanted: string,
  topic: (Omit<TopicDefinition, "externalId"> & { readonly source: Pick<Source, "kind"> }) | null | undefined,
  { details, path }: Omit<ManagedTopic, "definition">,
): boolean {
  const isAnnounced = topic?.source.kind !== "http";
  return (
    (isAnnounced && wanted === digestManaged({ details, path })) ||
    (topic != null && wanted === digestManaged({ definition: topic, details, path }))
  );
}

const digest = (value: unknown): string => hash("sha256", JSON.stringify(value), "base64url").slice(0, 22);
