import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import {
  maxLookUpDefinitions,
  maxLookUpIds,
  type SetChanges,
  type TopicLookUp,
  type TopicLookUpReply,
  type TopicSetView,
} from "../../../../schemas/topics/sets.ts";
import { changeSet, getDatabase, listSets, lookUpTopics } from "../../../operations/topic-sets.ts";
import type { ApplyBatch } from "../../../plans/apply.ts";
import { toChangeView } from "../../../plans/plan-file.ts";
import type { PlanSource } from "../../../plans/stores.ts";
import { fromKnownView } from "../../../plans/view.ts";
import { toDefinition, type TopicDefinition } from "../../../topics/topic.ts";
import type { OperationClient } from "../../client/operation-client.ts";

/** What plans are made from, and what stores them. */
export interface PlanConnection {
  readonly source: PlanSource;
  /** Returns how many changes were not made already. */
  readonly apply: (batch: ApplyBatch) => Promise<number>;
}

/** Connects plans by the operations that they need. Throws what the client throws. */
export async function connectPlans(client: OperationClient): Promise<PlanConnection> {
  const lookUp = async (body: TopicLookUp): Promise<TopicLookUpReply> =>
    (await client.call<TopicLookUpReply>(lookUpTopics, { body })).json;
  const readSets = async () => (await client.call<{ sets: TopicSetView[] }>(listSets)).json.sets;
  const lookUpDefinitions = async <T>(
    definitions: readonly TopicDefinition[],
    get: (reply: TopicLookUpReply) => readonly T[],
  ): Promise<T[]> => {
    const found: T[] = [];
    for (const some of splitIntoBatches(definitions, maxLookUpDefinitions))
      found.push(...get(await lookUp({ definitions: some.map(toDefinition) })));
    return found;
  };

  const source: PlanSource = {
    databaseId: (await client.call<{ readonly id: string }>(getDatabase)).json.id,
    findSet: async (name) => (await readSets()).find((set) => set.name === name),
    listSets: async () => (await readSets()).map(({ name }) => name),

    async *streamMembers(set) {
      for (let after: string | null | undefined; after !== null;) {
        const page = await lookUp({ set, ...(after !== undefined && { after }) });
        yield* page.topics.map(fromKnownView);
        after = page.next;
      }
    },

    async findKnown(externalIds) {
      const found = [];
      for (const some of splitIntoBatches(externalIds, maxLookUpIds))
        found.push(...(await lookUp({ externalIds: some })).topics.map(fromKnownView));
      return found;
    },

    findHolders: (definitions) => lookUpDefinitions(definitions, ({ holders }) => holders),
    findWarnings: (definitions) => lookUpDefinitions(definitions, ({ warnings }) => warnings),
  };

  return {
    source,
    async apply({ set, origin, revision, changes, ...batch }) {
      const body: SetChanges = {
        ...batch,
        ...(origin !== undefined && { origin }),
        ...(revision !== undefined && { revision }),
        // What was before is in the plan for people; `expects` is enough.
        changes: changes.map((change) => toChangeView({ ...change, before: undefined })),
      };
      const request = { parameters: { name: set }, body };
      return (await client.call<{ readonly applied: number }>(changeSet, request)).json.applied;
    },
  };
}
