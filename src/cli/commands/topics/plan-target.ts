import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import type { EgressNaming } from "@topicsync/kafka";
import {
  maxLookUpDefinitions,
  type TopicLookUp,
  type TopicLookUpReply,
  type TopicSetView,
} from "../../../../schemas/topics/sets.ts";
import { changeSet, getDatabase, listSets, lookUpTopics } from "../../../operations/topic-sets.ts";
import type { ApplyBatch } from "../../../plans/apply.ts";
import type { PlannedChange } from "../../../plans/plan.ts";
import type { PlanSource } from "../../../plans/stores.ts";
import { createEgressNamingFromConfig } from "../../../service/egress-naming.ts";
import { toDefinition, type TopicDefinition } from "../../../topics/topic.ts";
import { runWithClient } from "../../client/client.ts";
import { findKnown } from "../../client/topics.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import type { ServerFlag } from "../../input/server.ts";
import type { PreviewPlace } from "./impact-preview.ts";

/** What plans are made from and applied to. */
export interface PlanTarget extends PreviewPlace {
  readonly source: PlanSource;
  /** Undefined: unknown, or no router is configured. */
  readonly egressNaming: EgressNaming | undefined;
}

/** Runs a command with the server that the flags or TOPICSYNC_SERVER name, else with the database. */
export const runWithTarget = (
  flags: ServerFlag,
  work: (target: PlanTarget) => Promise<void>,
): Promise<void> =>
  runWithClient(flags, async (client, context) =>
    work({
      source: await connectSource(client),
      ...{ client, context },
      egressNaming: context && createEgressNamingFromConfig(context.config.kafka),
    }),
  );

/** Reads what plans need by operations. Throws what the client throws. */
async function connectSource(client: OperationClient): Promise<PlanSource> {
  const lookUp = async (body: TopicLookUp): Promise<TopicLookUpReply> =>
    (await client.call<TopicLookUpReply>(lookUpTopics, { body })).json;
  const lookUpDefinitions = async <T>(
    definitions: readonly TopicDefinition[],
    get: (reply: TopicLookUpReply) => readonly T[],
  ): Promise<T[]> => {
    const found: T[] = [];
    for (const some of splitIntoBatches(definitions, maxLookUpDefinitions))
      found.push(...get(await lookUp({ definitions: some.map(toDefinition) })));
    return found;
  };

  return {
    databaseId: (await client.call<{ readonly id: string }>(getDatabase)).json.id,

    async findSet(name) {
      const { json } = await client.call<{ readonly sets: readonly TopicSetView[] }>(listSets);
      return json.sets.find((set) => set.name === name);
    },

    async *streamMembers(set) {
      for (let after: string | null | undefined; after !== null;) {
        const page = await lookUp({ set, ...(after !== undefined && { after }) });
        yield* page.topics;
        after = page.next;
      }
    },

    findKnown: (externalIds) => findKnown(client, externalIds),
    findHolders: (definitions) => lookUpDefinitions(definitions, ({ holders }) => holders),
    findWarnings: (definitions) => lookUpDefinitions(definitions, ({ warnings }) => warnings),
  };
}

/** Returns how many changes were not made already. */
export async function applyBatch(
  client: OperationClient,
  { set, changes, ...batch }: ApplyBatch,
): Promise<number> {
  const request = { parameters: { name: set }, body: { ...batch, changes: changes.map(toSentChange) } };
  return (await client.call<{ readonly applied: number }>(changeSet, request)).json.applied;
}

/** What was before is in the plan for people; `expects` is enough. */
const toSentChange = ({ after, ...one }: PlannedChange): PlannedChange => ({
  ...{ action: one.action, externalId: one.externalId, expects: one.expects },
  ...{ detailsVersion: one.detailsVersion, warnings: one.warnings, notes: one.notes },
  ...(after && { after }),
});
