import {
  impactResultSchema,
  maxImpactChanges,
  type ImpactBody,
  type ImpactResult,
} from "../../../schemas/impact.ts";
import {
  maxLookUpDefinitions,
  maxLookUpIds,
  topicLookUpReplySchema,
  topicSetListSchema,
  type SetChanges,
  type TopicLookUp,
  type TopicLookUpReply,
  type TopicSetView,
} from "../../../schemas/topic-sets.ts";
import { readEnvironment } from "../../config/config.ts";
import { getErrorMessage, PlanError, UnavailableError } from "../../lib/errors.ts";
import { splitIntoBatches } from "../../lib/batches.ts";
import { createValidator } from "../../lib/validation.ts";
import type { ApplyChanges } from "../../plans/apply.ts";
import { toChangeView } from "../../plans/plan-file.ts";
import type { PlannedChange } from "../../plans/plan.ts";
import type { PlanSource } from "../../plans/stores.ts";
import { fromKnownView } from "../../plans/view.ts";
import { toDefinition, type TopicDefinition } from "../../topics/topic.ts";
import { findAuthorization } from "../input/credentials.ts";
import type { PreviewChanges, PreviewOptions } from "./plan-preview.ts";

const requestTimeoutMs = 60_000;
const checkLookUp = createValidator<TopicLookUpReply>(topicLookUpReplySchema);
const checkImpact = createValidator<ImpactResult>(impactResultSchema);
const checkSets = createValidator<{ sets: TopicSetView[] }>(topicSetListSchema);

interface ServerConnection {
  readonly source: PlanSource;
  readonly apply: ApplyChanges;
  readonly preview: PreviewChanges;
}

/** Connects plans to a running service. Throws UnavailableError, and a PlanError if it rejects the caller. */
export async function connectToServer(url: string, abort: AbortSignal): Promise<ServerConnection> {
  const send = createClient(url, abort);
  const lookUp = async (body: TopicLookUp): Promise<TopicLookUpReply> =>
    requireValid(checkLookUp(await send("POST", "/topic-look-up", body)));
  const listSets = async () => requireValid(checkSets(await send("GET", "/topic-sets"))).sets;
  const lookUpDefinitions = async <T>(
    definitions: readonly TopicDefinition[],
    get: (reply: TopicLookUpReply) => readonly T[],
  ): Promise<T[]> => {
    const found: T[] = [];
    for (const some of splitIntoBatches(definitions, maxLookUpDefinitions))
      found.push(...get(await lookUp({ definitions: some.map(toDefinition) })));
    return found;
  };
  const database = (await send("GET", "/database")) as { readonly id?: unknown };

  const source: PlanSource = {
    databaseId: String(database.id),
    findSet: async (name) => (await listSets()).find((set) => set.name === name),
    listSets: async () => (await listSets()).map(({ name }) => name),

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
    preview: (changes, options) => previewChanges(changes, options, send),
    async apply({ set, origin, revision, changes, ...batch }) {
      const body: SetChanges = {
        ...batch,
        ...(origin !== undefined && { origin }),
        ...(revision !== undefined && { revision }),
        // What was before is in the plan for people; `expects` is enough.
        changes: changes.map((change) => toChangeView({ ...change, before: undefined })),
      };
      const reply = (await send("POST", `/topic-sets/${encodeURIComponent(set)}/changes`, body)) as {
        readonly applied?: unknown;
      };
      return { applied: Number(reply.applied), events: [] };
    },
  };
}

/** Lets the server compare the changes with what it has stored. Throws a PlanError for too many. */
async function previewChanges(
  changes: readonly PlannedChange[],
  options: PreviewOptions,
  send: Send,
): Promise<ImpactResult> {
  if (changes.length > maxImpactChanges)
    throw new PlanError(
      `The plan changes the filters of ${changes.length} topics, and --impact with --server takes at most ${maxImpactChanges}. Plan fewer files at a time, or use the database.`,
    );
  const body: ImpactBody = {
    ...options,
    changes: changes.map(({ externalId, after }) => {
      if (after?.definition === undefined) return { externalId, disable: true };
      const { namespace, headerQuery, contentQuery } = after.definition;
      return { externalId, namespace, headerQuery, contentQuery };
    }),
  };
  const result = requireValid(checkImpact(await send("POST", "/impact", body)));
  // A renamed topic is compared under the external id that it has.
  const topics = result.topics.map((topic, at) => ({
    ...topic,
    externalId: changes[at]?.after?.externalId ?? topic.externalId,
  }));
  return { ...result, topics };
}

type Send = (method: "GET" | "POST", path: string, body?: object) => Promise<unknown>;

function createClient(server: string, abort: AbortSignal): Send {
  const root = `${server.replace(/\/+$/, "")}/api/topicsync/v1`;
  const authorization = findAuthorization(readEnvironment(process.env));
  if (authorization === undefined)
    throw new PlanError("--server needs TOPICSYNC_USER and TOPICSYNC_PASSWORD, or TOPICSYNC_TOKEN.");
  return async (method, path, body) => {
    const response = await fetch(root + path, {
      method,
      headers: {
        authorization,
        accept: "application/json",
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.any([abort, AbortSignal.timeout(requestTimeoutMs)]),
    }).catch((error: unknown) => {
      throw new UnavailableError(`${server} did not respond: ${describeCause(error)}`, { cause: error });
    });
    const json: unknown = await response.json().catch(() => undefined);
    if (response.ok) return json;
    const reason = `${server}: ${getReason(json) ?? `HTTP status ${response.status}`}`;
    throw response.status >= 500 || response.status === 429
      ? new UnavailableError(reason)
      : new PlanError(reason);
  };
}

/** fetch puts the reason into the cause. */
const describeCause = (error: unknown): string =>
  getErrorMessage(error instanceof Error && error.cause !== undefined ? error.cause : error);

function getReason(json: unknown): string | undefined {
  const { error } = (json ?? {}) as {
    readonly error?: { readonly message?: unknown; readonly detail?: unknown };
  };
  if (typeof error?.message !== "string") return undefined;
  return [error.message, error.detail].filter((one) => typeof one === "string" && one !== "").join(" ");
}

function requireValid<T>(checked: { readonly ok: true; readonly value: T } | { readonly ok: false }): T {
  if (checked.ok) return checked.value;
  throw new PlanError("The server is of another version of topicsync.");
}
