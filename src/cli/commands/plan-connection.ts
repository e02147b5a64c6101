import { maxImpactChanges, type ImpactBody, type ImpactResult } from "../../../schemas/impact.ts";
import {
  maxLookUpDefinitions,
  maxLookUpIds,
  type SetChanges,
  type TopicLookUp,
  type TopicLookUpReply,
  type TopicSetView,
} from "../../../schemas/topic-sets.ts";
import { PlanError } from "../../lib/errors.ts";
import { splitIntoBatches } from "../../lib/batches.ts";
import { previewImpact } from "../../operations/impact.ts";
import { changeSet, getDatabase, listSets, lookUpTopics } from "../../operations/topic-sets.ts";
import type { ApplyBatch } from "../../plans/apply.ts";
import { toChangeView } from "../../plans/plan-file.ts";
import type { PlannedChange } from "../../plans/plan.ts";
import type { PlanSource } from "../../plans/stores.ts";
import { fromKnownView } from "../../plans/view.ts";
import { toDefinition, type TopicDefinition } from "../../topics/topic.ts";
import type { OperationClient } from "../client/operation-client.ts";
import type { PreviewChanges, PreviewOptions } from "./plan-preview.ts";

/** What plans are made from, and what stores them. */
export interface PlanConnection {
  readonly source: PlanSource;
  /** Returns how many changes were not made already. */
  readonly apply: (batch: ApplyBatch) => Promise<number>;
  readonly preview: PreviewChanges;
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
    preview: (changes, options) => previewChanges(changes, options, client),
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

/** Lets the server compare the changes with what it has stored. Throws a PlanError for too many. */
async function previewChanges(
  changes: readonly PlannedChange[],
  options: PreviewOptions,
  client: OperationClient,
): Promise<ImpactResult> {
  if (changes.length > maxImpactChanges)
    throw new PlanError(
      `The plan changes the filters of ${changes.length} topics, and --impact with a server takes at most ${maxImpactChanges}. Plan fewer files at a time, or use the database.`,
    );
  const body: ImpactBody = {
    ...options,
    changes: changes.map(({ externalId, after }) => {
      if (after?.definition === undefined) return { externalId, disable: true };
      const { namespace, headerQuery, contentQuery } = after.definition;
      return { externalId, namespace, headerQuery, contentQuery };
    }),
  };
  const { json: result } = await client.call<ImpactResult>(previewImpact, { body });
  // A renamed topic is compared under the external id that it has.
  const topics = result.topics.map((topic, at) => ({
    ...topic,
    externalId: changes[at]?.after?.externalId ?? topic.externalId,
  }));
  return { ...result, topics };
}
