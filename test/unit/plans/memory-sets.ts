import assert from "node:assert/strict";

import type { ApplyAccess } from "../../../src/plans/apply-access.ts";
import {
  createApply,
  type AppliedBatch,
  type ApplyBatch,
  type ApplyOptions,
} from "../../../src/plans/apply.ts";
import { createPlan, type SetPlanOptions } from "../../../src/plans/create-plan.ts";
import { digestManaged, type DesiredSet, type DesiredTopic } from "../../../src/plans/desired.ts";
import { readDriftPage, type Drift } from "../../../src/plans/drift.ts";
import type { PlanResult } from "../../../src/plans/plan.ts";
import { createPlanReader } from "../../../src/plans/reader.ts";
import type {
  PlanReader,
  PlanSource,
  SetWrites,
  TopicSet,
  TopicSetStore,
} from "../../../src/plans/stores.ts";
import { toKnownView } from "../../../src/plans/view.ts";
import { DetailsConflictError } from "../../../src/topics/details/store.ts";
import {
  noDetails,
  toRenamedDetails,
  type StoredDetails,
  type TopicDetails,
} from "../../../src/topics/details/details.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import type { Topic } from "../../../src/topics/topic.ts";
import { includesNamespace } from "../../../src/users/rights.ts";
import { createMemoryTable } from "../topics/memory-table.ts";
import { createDefinition } from "../topics/model.ts";

/** Everything that is stored, by external id. */
export interface StoredState {
  readonly topics: ReadonlyMap<string, Topic>;
  readonly details: ReadonlyMap<string, StoredDetails>;
}

/** Of a caller who may change everything. */
export const everywhere: ApplyAccess = {
  canChange: () => true,
  check: () => undefined,
  checkDefinition: () => undefined,
};

interface RunOptions extends Partial<Pick<ApplyOptions, "access">> {
  /** The digest of the plan. */
  readonly plan?: string;
  readonly set?: string;
  readonly origin?: string;
}

/** Topics, details and sets in memory, and what plans and applies them. */
export function createMemorySets() {
  let details: ReadonlyMap<string, StoredDetails> = new Map();
  const sets = new Map<string, TopicSet>();
  let time = Date.UTC(2026, 0, 1);
  const now = (): Date => new Date((time += 1_000));

  const table = createMemoryTable(({ renamed }) => {
    const next = new Map(details);
    for (const { from } of renamed) next.delete(from.externalId);
    for (const { from, to } of renamed) {
      const moved = details.get(from.externalId);
      const author = { by: "ann", at: to.updatedOn };
      if (moved !== undefined)
        next.set(to.externalId, toRenamedDetails(moved, details.get(to.externalId), { from, to, ...author }));
    }
    details = next;
  });

  async function write(writes: SetWrites): Promise<void> {
    const { set, origin, details: written, removedDetails, on } = writes;
    await Promise.resolve();
    const stored = sets.get(set);
    if (stored !== undefined) writes.check?.(stored);
    const next = new Map(details);
    for (const { externalId, version } of removedDetails) {
      if (next.get(externalId)?.version !== version) throw new DetailsConflictError();
      next.delete(externalId);
    }
    for (const one of written) {
      if ((next.get(one.externalId)?.version ?? 0) !== one.version - 1) throw new DetailsConflictError();
      next.set(one.externalId, one);
    }
    details = next;
    const namespaces = [...new Set([...(stored?.namespaces ?? []), ...writes.namespaces])];
    const kept = origin ?? stored?.view.origin;
    const view = { name: set, createdOn: on.toISOString(), createdBy: "ann", applies: [] };
    sets.set(set, { view: { ...view, ...(kept !== undefined && { origin: kept }) }, namespaces });
  }

  const setStore = {
    getDatabaseId: () => "database",
    getPrimary: () => "primary",
    confirmReads: () => Promise.resolve(true),
    find: (name: string) => Promise.resolve(sets.get(name)),
    list: () => Promise.resolve([...sets.values()]),
    write,
  };
  const reader = createPlanReader({
    topics: table,
    details: {
      find: (ids) => Promise.resolve(ids.flatMap((id) => details.get(id) ?? [])),
      search: ({ set, namespaces }) =>
        async function* ({ after = "" }) {
          await Promise.resolve();
          const found = [...details.values()]
            .filter(({ membership, externalId }) => membership?.set === set && externalId > after)
            .filter(({ namespace }) => includesNamespace(namespaces, namespace))
            .toSorted((one, other) => (one.externalId < other.externalId ? -1 : 1));
          for (; found.length > 0;) yield found.splice(0, 2);
        },
    },
  });
  const source = createSource(reader, setStore);
  const topics = createTopicService(table, { now });
  const stores = { topics, reader, sets: setStore, now };
  const apply = createApply(stores);
  const applyBatch = (
    changes: ApplyBatch["changes"],
    { plan = "p", set = "noc", origin, access = everywhere }: RunOptions = {},
  ): Promise<AppliedBatch> => {
    const batch = { database: "database", ...(origin !== undefined && { origin }), set, plan, changes };
    return apply({ ...batch, total: changes.length }, { user: "ann", access });
  };

  return {
    table,
    reader,
    source,
    topics,
    stores,
    read: (): StoredState => ({
      topics: new Map(table.topics.map((topic) => [topic.externalId, topic])),
      details,
    }),
    /** Changes details behind the back of the sets. */
    putDetails: (changed: StoredDetails): void => {
      details = new Map(details).set(changed.externalId, changed);
    },
    plan: (desired: DesiredSet, options: Partial<SetPlanOptions> = {}): Promise<PlanResult> =>
      createPlan(desired, source, {
        ...{
          prune: false,
          maxDeletes: { percent: 100 },
          allowEmpty: true,
          adopt: false,
          takeOver: undefined,
        },
        ...{ origin: undefined, revision: undefined, user: "ann", now: now(), egressNaming: undefined },
        ...options,
      }),
    applyBatch,
    listDrift: async (set = "noc"): Promise<readonly Drift[]> =>
      (await readDriftPage(reader, set, { after: undefined, namespaces: "all" })).drift,
    /** Applies changes together, and returns how many were made. */
    apply: async (...args: Parameters<typeof applyBatch>): Promise<number> =>
      (await applyBatch(...args)).applied,
  };
}

/** What plans are made from by somebody with every right. */
export const createSource = (
  reader: PlanReader,
  sets: Pick<TopicSetStore, "getDatabaseId" | "find">,
): { -readonly [K in keyof PlanSource]: PlanSource[K] } => ({
  databaseId: sets.getDatabaseId(),
  findSet: async (name) => (await sets.find(name))?.view,
  async *streamMembers(set) {
    const members = reader.streamMembers(set, { after: undefined, namespaces: "all" });
    for await (const known of members) yield toKnownView(known);
  },
  findKnown: async (ids) => (await reader.findKnown(ids)).map(toKnownView),
  findHolders: (definitions) => reader.findHolders(definitions),
  findWarnings: (definitions) =>
    Promise.resolve(
      definitions.map(({ contentQuery: condition }) => [
        { code: "UNKNOWN_PATH", filter: "contentQuery", condition, message: "", suggestions: [] },
      ]),
    ),
});

/** A topic in a file, whose name and filter are the same text. */
export const createDesired = (
  externalId: string,
  { owner = "", name = externalId, ...more }: Partial<DesiredTopic & TopicDetails & { name: string }> = {},
): DesiredTopic => ({
  externalId,
  definition: { ...createDefinition(externalId, name), contentQuery: `a=${name}` },
  details: { ...noDetails, owner },
  path: "a.yaml",
  ...{ renamedFrom: undefined, isDraft: false },
  ...more,
});

/** Files in memory. */
export function toDesiredSet(
  all: readonly DesiredTopic[],
  { set = "noc", paths = [""] }: Partial<Pick<DesiredSet, "set" | "paths">> = {},
): DesiredSet {
  const topics = all.map((one) => {
    const { externalId, isDraft, renamedFrom, path: file } = one;
    return [
      externalId,
      { file, line: 1, column: 1, digest: digestManaged(one), isDraft, renamedFrom },
    ] as const;
  });
  return {
    ...{ set, paths, files: 1, topics: new Map(topics) },
    async *read(ids) {
      await Promise.resolve();
      const wanted = all.filter(({ externalId }) => ids.has(externalId));
      assert.equal(wanted.length, ids.size, "only what the files have is read again");
      yield* wanted;
    },
  };
}
