import type { TopicBody } from "../../schemas/topic.ts";
import type { AuditEvent } from "../lib/audit.ts";
import { RejectionError } from "../lib/errors.ts";
import { createTopicService } from "./service.ts";
import { UniqueViolationError, type TopicTable } from "./stores.ts";
import {
  createCombinationRejection,
  externalIdFault,
  getCombination,
  isSameDefinition,
  toDefinition,
  type Topic,
  type TopicDefinition,
} from "./topic.ts";

/** `unchanged`: a topic of this external id exists with the same definition. */
type ImportOutcome = "created" | "unchanged" | RejectionError;

/**
 * Creates topics from definitions, with the same result as one after the other; existing topics are not
 * changed. Returns one outcome per definition, in order. Throws UnavailableError; some topics may be stored
 * by then.
 */
export type ImportTopics = (bodies: readonly TopicBody[]) => Promise<ImportOutcome[]>;

/** How many definitions to import in one call. */
export const importBatchSize = 500;
const maxConcurrency = 32;

interface TopicImportOptions {
  readonly user: string;
  /** Stores nothing, and returns the outcomes that the import would have. */
  readonly dryRun: boolean;
  /** Called with the audit event of each topic once it is stored. */
  readonly onCreated: ((event: AuditEvent) => void) | undefined;
}

export function createTopicImport(
  stored: TopicTable,
  { user, dryRun, onCreated }: TopicImportOptions,
): ImportTopics {
  const store = dryRun ? createDryRunStore(stored) : stored;
  const service = createTopicService(store);

  async function importOne(body: TopicBody, existing: Topic | undefined): Promise<ImportOutcome> {
    const definition = toDefinition(body);
    if (existing !== undefined) return compare(definition, existing);
    try {
      const { event } = await service.create(body, user);
      onCreated?.(event);
      return "created";
    } catch (error) {
      if (!(error instanceof RejectionError)) throw error;
      // The holder may be from the same import or from another writer.
      const [holder] = await store.findByExternalIds([definition.externalId]);
      if (holder !== undefined) return compare(definition, holder);
      const [other] = await store.findByCombinations([definition]);
      return other === undefined ? error : createCombinationRejection(definition, other);
    }
  }

  return async (bodies) => {
    const externalIds = new Set(bodies.map(({ externalId }) => externalId));
    const stored = await store.findByExternalIds([...externalIds]);
    const existing = new Map(stored.map((topic) => [topic.externalId, topic]));
    const outcomes: ImportOutcome[] = [];
    for (const group of groupIndependent(bodies)) {
      const settled = await Promise.allSettled(
        group.map((body) => importOne(body, existing.get(body.externalId))),
      );
      for (const one of settled) {
        if (one.status === "rejected") throw one.reason;
        outcomes.push(one.value);
      }
    }
    return outcomes;
  };
}

/** A view of a store in which new topics are kept in memory, for a dry run of an import. */
function createDryRunStore(store: TopicTable): TopicTable {
  const byExternalId = new Map<string, Topic>();
  const byCombination = new Map<string, Topic>();

  const findByExternalIds: TopicTable["findByExternalIds"] = async (externalIds) => [
    ...(await store.findByExternalIds(externalIds)),
    ...externalIds.flatMap((id) => byExternalId.get(id) ?? []),
  ];
  const findByCombinations: TopicTable["findByCombinations"] = async (definitions) => [
    ...(await store.findByCombinations(definitions)),
    ...definitions.flatMap((definition) => byCombination.get(getCombination(definition)) ?? []),
  ];

  return {
    ...store,
    findByExternalIds,
    findByCombinations,
    async insert(topic) {
      const holders = [
        ...(await findByExternalIds([topic.externalId])),
        ...(await findByCombinations([topic])),
      ];
      if (holders.length > 0) throw new UniqueViolationError("dry run");
      byExternalId.set(topic.externalId, topic);
      byCombination.set(getCombination(topic), topic);
    },
  };
}

const comparedMembers = ["name", "namespace", "headerQuery", "contentQuery"] as const;

function compare(definition: TopicDefinition, existing: TopicDefinition): ImportOutcome {
  if (isSameDefinition(definition, existing)) return "unchanged";
  const different = comparedMembers.filter((member) => definition[member] !== existing[member]);
  return new RejectionError(
    "DUPLICATE_EXTERNAL_ID",
    `The external id "${definition.externalId}" belongs to a topic with a different ${different.join(", ")}.`,
    [externalIdFault],
  );
}

/** Splits definitions, in order, into groups in which no two share an external id or a combination. */
function* groupIndependent(bodies: readonly TopicBody[]): Generator<TopicBody[]> {
  let group: TopicBody[] = [];
  let taken = new Set<string>();
  for (const body of bodies) {
    const uniqueValues = [`id ${body.externalId}`, `combination ${getCombination(toDefinition(body))}`];
    if (group.length === maxConcurrency || uniqueValues.some((value) => taken.has(value))) {
      yield group;
      group = [];
      taken = new Set();
    }
    group.push(body);
    for (const value of uniqueValues) taken.add(value);
  }
  if (group.length > 0) yield group;
}
