import {
  deadLetterChannelQuerySchema,
  deadLetterChannels,
  deadLetterListSchema,
  deadLetterQuerySchema,
  deadLetterSchema,
  type DeadLetterChannel,
  type DeadLetterChannelQuery,
  type DeadLetterList,
  type DeadLetterQuery,
} from "../../schemas/dead-letters/dead-letter.ts";
import {
  replayBodySchema,
  replayOutcomesBodySchema,
  replayOutcomesSchema,
  replayResultSchema,
  type ReplayBody,
  type ReplayOutcomes,
  type ReplayOutcomesBody,
  type ReplayResult,
} from "../../schemas/dead-letters/replay.ts";
import { skip } from "../dead-letters/replay-plan.ts";
import { toReplayEvent } from "../dead-letters/replay.ts";
import { hideContent, hideFaults, hideMessage } from "../dead-letters/views.ts";
import type { DeadLetterService } from "../dead-letters/service.ts";
import { getNamespaces, hasRight, includesNamespace, mayReadEvents, type Right } from "../users/rights.ts";
import type { User } from "../users/user.ts";
import { bodyRules } from "./framework/body.ts";
import { createForbiddenError, HttpError } from "./framework/errors.ts";
import { operation, type Call, type Operation } from "./framework/operation.ts";
import type { DeadLetterServices } from "./framework/services.ts";
import { queryRules } from "./framework/query.ts";

/** The dead letters of each channel that is consumed. */

const path = "/api/topicsync/v1/dead-letters";
const common = { perNamespace: true, tag: "dead letters" } as const;

export const listDeadLetters = operation({
  ...common,
  access: "dead-letters.read",
  id: "listDeadLetters",
  method: "GET",
  paths: [path],
  summary: "List dead letters",
  description: "Newest first, with the number of dead letters per code.",
  query: queryRules<DeadLetterQuery>(deadLetterQuerySchema),
  replies: { 200: { description: "A page of dead letters.", schema: deadLetterListSchema } },
  rejections: ["NOT_FOUND"],
  async handle(
    { query: { channel, replayed, limit, code: codes, from, to, after }, user, namespaces },
    { deadLetters },
  ) {
    const services = await deadLetters;
    const service = getService(services, channel, { user, namespaces }, "dead-letters.read");
    const filter = { codes, from: toDate(from), to: toDate(to), namespaces };
    const page = await service.list({ filter, replayed, after, limit });
    const counts = await service.countByCode(namespaces);
    const total = Object.values(counts).reduce((sum, one) => sum + one, 0);
    const channels = deadLetterChannels.filter(
      (one) => services[one] !== undefined && findMissingRight(one, { user, namespaces }) === undefined,
    );
    const shown =
      channel === "events" && !mayReadEvents(user) ? page.deadLetters.map(hideMessage) : page.deadLetters;
    // How many others wait says something about them.
    const unlisted = namespaces === "all" ? page.unlisted : 0;
    const json: DeadLetterList = { channels, counts, total, ...page, unlisted, deadLetters: shown };
    return { status: 200, json };
  },
});

export const getDeadLetter = operation({
  ...common,
  access: "dead-letters.read",
  id: "getDeadLetter",
  method: "GET",
  paths: [`${path}/{id}`],
  summary: "Get a dead letter",
  description:
    "The original key, value and headers, what is wrong with them, and the replays. Key, value and headers are left out for callers without the right `dead-letters.read-content`; those of events also require `admin`.",
  parameters: { id: "Topic, partition and offset of the original record, joined by hyphens." },
  query: queryRules<DeadLetterChannelQuery>(deadLetterChannelQuerySchema),
  replies: { 200: { description: "The dead letter.", schema: deadLetterSchema } },
  rejections: ["NOT_FOUND"],
  async handle({ parameters: { id = "" }, query: { channel }, user, namespaces }, { deadLetters }) {
    const service = getService(await deadLetters, channel, { user, namespaces }, "dead-letters.read");
    const found = await service.get(id, namespaces);
    if (found !== undefined) {
      const json = channel === "events" && !mayReadEvents(user) ? hideFaults(found.view) : found.view;
      return mayReadContent(channel, user, found.namespace)
        ? { status: 200, json, audit: { action: "dead-letters.read", id } }
        : { status: 200, json: hideContent(json) };
    }
    throw new HttpError("NOT_FOUND", `There is no dead letter "${id}".`, {
      detail: "Its Kafka topic may have deleted it.",
    });
  },
});

export const replayDeadLetters = operation({
  ...common,
  access: "dead-letters.replay",
  id: "replayDeadLetters",
  method: "POST",
  paths: [`${path}/replays`],
  summary: "Replay dead letters",
  description:
    "Sends the original key, value and headers to the original partition, in the original order. Returns what was not sent, with the reasons. Without `again`, a dead letter is sent once, even by concurrent requests. `force`, and dead letters that topicsync did not write, require the right `admin`.",
  body: bodyRules<ReplayBody>(replayBodySchema),
  replies: { 200: { description: "What was sent and what was not.", schema: replayResultSchema } },
  rejections: ["NOT_FOUND"],
  async handle({ body, user, namespaces }, { deadLetters }) {
    const { ids, channel = "announcements", again, force, dryRun = false } = body;
    const service = getService(await deadLetters, channel, { user, namespaces }, "dead-letters.replay");
    const isAdmin = hasRight(user, "admin");
    if (force === true && !isAdmin) {
      throw new HttpError("FORBIDDEN", `The user "${user.name}" may not overwrite later announcements.`, {
        detail: 'With "force", the right admin is required.',
      });
    }
    const plan = await service.plan({ ids, namespaces, again, force, others: isAdmin });
    const planned = plan.send.map(({ id }) => id);
    const skipped = [...plan.skipped];
    if (dryRun) {
      const json: ReplayResult = { topic: plan.topic, sent: planned, skipped };
      return { status: 200, json };
    }
    const result = await service.send(plan);
    const sent = [...result.sent];
    const audit = toReplayEvent(plan, result, again);
    const done = new Set([...sent, ...result.skipped.map(({ id }) => id)]);
    skipped.push(...result.skipped, ...planned.filter((id) => !done.has(id)).map(interrupt));
    const json: ReplayResult = { topic: plan.topic, sent, skipped };
    return { status: 200, json, audit, failure: sent.length === 0 ? result.failure : undefined };
  },
});

const listOutcomes = operation({
  ...common,
  access: "dead-letters.read",
  id: "getReplayOutcomes",
  method: "POST",
  paths: [`${path}/replay-outcomes`],
  summary: "Get the outcomes of replays",
  description: "The last replay of each dead letter and its outcome. Changes nothing.",
  body: bodyRules<ReplayOutcomesBody>(replayOutcomesBodySchema),
  replies: { 200: { description: "The last replay of each dead letter.", schema: replayOutcomesSchema } },
  rejections: ["NOT_FOUND"],
  async handle({ body: { ids, channel = "announcements" }, user, namespaces }, { deadLetters }) {
    const service = getService(await deadLetters, channel, { user, namespaces }, "dead-letters.read");
    const replays = await service.getOutcomes(ids, namespaces);
    const json: ReplayOutcomes = { deadLetters: ids.map((id, i) => ({ id, replay: replays[i] ?? null })) };
    return { status: 200, json };
  },
});

const interrupt = (id: string) =>
  skip(id, "interrupted", "Kafka or the database stopped responding, or the service is stopping");

const toDate = (time: string | undefined): Date | undefined =>
  time === undefined ? undefined : new Date(time);

type Reader = Pick<Call, "user" | "namespaces">;

/**
 * What a caller lacks for a channel. Dead letters of push feedback contain push tokens. Neither they nor
 * events have a namespace.
 */
function findMissingRight(
  channel: DeadLetterChannel,
  { user, namespaces }: Reader,
): Right | "all" | undefined {
  if (channel === "announcements") return undefined;
  if (namespaces !== "all") return "all";
  if (channel === "events" || hasRight(user, "installations.read-tokens")) return undefined;
  return "installations.read-tokens";
}

function mayReadContent(channel: DeadLetterChannel, user: User, namespace: string | undefined): boolean {
  if (channel === "events") return mayReadEvents(user);
  return includesNamespace(getNamespaces(user, "dead-letters.read-content"), namespace);
}

/** The service of a channel. Throws an HttpError if the user may not read it or it is not consumed. */
function getService(
  services: DeadLetterServices,
  channel: DeadLetterChannel,
  reader: Reader,
  right: Right,
): DeadLetterService {
  const missing = findMissingRight(channel, reader);
  if (missing !== undefined) throw createForbiddenError(reader.user, missing === "all" ? right : missing);
  const service = services[channel];
  if (service !== undefined) return service;
  throw channel === "events"
    ? new HttpError("NOT_FOUND", "Events are not forwarded.", { detail: "KAFKA_EVENTS_TOPIC is not set." })
    : new HttpError("NOT_FOUND", "Push feedback is not consumed.", {
        detail: "KAFKA_PUSH_FEEDBACK_TOPIC is not set.",
      });
}

/** Lists, shows and replays dead letters, and returns the outcomes of replays. */
export const deadLetterOperations: readonly Operation[] = [
  listDeadLetters,
  getDeadLetter,
  replayDeadLetters,
  listOutcomes,
];
