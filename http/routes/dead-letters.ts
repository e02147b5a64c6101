import {
  deadLetterChannelQuerySchema,
  deadLetterChannels,
  deadLetterListSchema,
  deadLetterQuerySchema,
  deadLetterSchema,
  outcomesBodySchema,
  outcomesSchema,
  replayBodySchema,
  replayResultSchema,
  type DeadLetterChannel,
  type DeadLetterChannelQuery,
  type DeadLetterList,
  type DeadLetterQueryTexts,
  type Outcomes,
  type OutcomesBody,
  type ReplayBody,
  type ReplayResult,
} from "../../schemas/dead-letters.ts";
import { replayedEvent } from "../../src/dead-letters/audit.ts";
import type { DeadLetterService } from "../../src/dead-letters/service.ts";
import { toDeadLetterView, toReplayView } from "../../src/dead-letters/view.ts";
import { RefusalError } from "../../src/lib/errors.ts";
import { roles, type User } from "../../src/users/user.ts";
import { createValidator, type ValidationResult } from "../../src/lib/validation.ts";
import { HttpError } from "../framework/errors.ts";
import { operation, type Operation } from "../framework/operation.ts";

/** The dead letters of each channel that is read. */
export type DeadLetterServices = Readonly<Partial<Record<DeadLetterChannel, DeadLetterService>>>;

const path = "/api/topicsync/v1/dead-letters";
const uncached = { "Cache-Control": "no-store" } as const;
const common = { access: roles.eventManagement, tag: "dead letters" } as const;

const checkQuery = createValidator<DeadLetterQueryTexts>(deadLetterQuerySchema, { defaults: true });
const checkChannelQuery = createValidator<DeadLetterChannelQuery>(deadLetterChannelQuerySchema, {
  defaults: true,
});
const checkReplay = createValidator<ReplayBody>(replayBodySchema);
const checkOutcomes = createValidator<OutcomesBody>(outcomesBodySchema);

/** What was refused: looking at it, sending it back, and what came of that. */
export const deadLetterOperations = (offices: DeadLetterServices): readonly Operation[] => [
  operation({
    ...common,
    id: "listDeadLetters",
    method: "GET",
    paths: [path],
    summary: "List dead letters",
    description: "Newest first, with the number of dead letters per code.",
    query: parametersOf(deadLetterQuerySchema.properties),
    replies: { 200: { description: "A page of dead letters.", schema: deadLetterListSchema } },
    refusals: ["SCHEMA_VIOLATION", "NOT_FOUND"],
    async handle({ query, user }) {
      const { channel, replayed, limit, code, after } = checked(checkQuery, query);
      const page = await getService(offices, channel, user).page({
        code,
        replayed: replayed === undefined ? undefined : replayed === "true",
        after,
        limit: Number(limit),
      });
      const json: DeadLetterList = {
        channels: deadLetterChannels.filter((one) => offices[one] !== undefined && isAllowed(one, user)),
        counts: Object.fromEntries(page.counts),
        all: page.all,
        older: page.older,
        letters: page.letters.map((one) => ({
          ...one,
          replay: one.replay ? toReplayView(one.replay) : null,
        })),
        next: page.next ?? null,
      };
      return { status: 200, json, headers: uncached };
    },
  }),
  operation({
    ...common,
    id: "getDeadLetter",
    method: "GET",
    paths: [`${path}/{id}`],
    summary: "Get a dead letter",
    description: "Its original key, value and headers, why it was rejected, and its replays.",
    parameters: { id: "Topic, partition and offset of the rejected record." },
    query: parametersOf(deadLetterChannelQuerySchema.properties),
    replies: { 200: { description: "The dead letter.", schema: deadLetterSchema } },
    refusals: ["SCHEMA_VIOLATION", "NOT_FOUND"],
    async handle({ parameters: { id = "" }, query, user }) {
      const { channel } = checked(checkChannelQuery, query);
      const found = await getService(offices, channel, user).show(id);
      if (found !== undefined) return { status: 200, json: toDeadLetterView(found), headers: uncached };
      throw new HttpError("NOT_FOUND", `There is no dead letter "${id}".`, {
        detail: "Only the newest are looked at; `topicsync dead-letters` has all.",
      });
    },
  }),
  operation<ReplayBody>({
    ...common,
    id: "replayDeadLetters",
    method: "POST",
    // A path of its own: below the letters it would stand where an id does.
    paths: ["/api/topicsync/v1/dead-letter-replay"],
    summary: "Replay dead letters",
    description:
      "Sends the original key, value and headers to the original partition, in order. Records that are not sent are listed with the reason. A dead letter is sent only once, unless `again` is true.",
    body: { schema: replayBodySchema, check: checkReplay, wrongTypeStatus: 415 },
    replies: {
      200: { description: "The records sent and the records skipped.", schema: replayResultSchema },
    },
    refusals: ["NOT_FOUND"],
    async handle({ body, user }) {
      const { ids, channel = "announcements", again = false, force = false, dryRun = false } = body;
      const result = await getService(offices, channel, user).replay({ ids, again, force, dryRun });
      const { to, sent, skipped } = result;
      const json: ReplayResult = { to, sent: [...sent], skipped: [...skipped] };
      const reply = { status: 200, json };
      return dryRun || sent.length === 0 ? reply : { ...reply, audit: replayedEvent(to, sent) };
    },
  }),
  operation<OutcomesBody>({
    ...common,
    id: "getReplayOutcomes",
    method: "POST",
    paths: ["/api/topicsync/v1/dead-letter-outcomes"],
    summary: "Get replay outcomes",
    description: "The last replay of each dead letter and its outcome. Read-only.",
    body: { schema: outcomesBodySchema, check: checkOutcomes, wrongTypeStatus: 415 },
    replies: { 200: { description: "The last replay of each dead letter.", schema: outcomesSchema } },
    refusals: ["NOT_FOUND"],
    async handle({ body: { ids, channel = "announcements" }, user }) {
      const outcomes = await getService(offices, channel, user).outcomes(ids);
      const letters = ids.map((id, i) => {
        const replay = outcomes[i];
        return { id, replay: replay === undefined ? null : toReplayView(replay) };
      });
      return { status: 200, json: { letters } satisfies Outcomes, headers: uncached };
    },
  }),
];

const parametersOf = (properties: Readonly<Record<string, { readonly description: string }>>) =>
  Object.entries(properties).map(([name, { description, ...schema }]) => ({ name, description, schema }));

function checked<T>(
  check: (value: unknown) => ValidationResult<T>,
  query: Readonly<Record<string, unknown>>,
): T {
  const found = check({ ...query });
  if (found.ok) return found.value;
  throw new RefusalError("SCHEMA_VIOLATION", "The query is not what this operation takes.", found.faults);
}

/** What was refused of the push feedback has push tokens in it. */
const isAllowed = (channel: DeadLetterChannel, user: User): boolean =>
  channel === "announcements" || user.roles.includes(roles.pushAdmin);

/** The letters of a channel. Throws an HttpError where there are none, or not for this user. */
function getService(offices: DeadLetterServices, channel: DeadLetterChannel, user: User): DeadLetterService {
  if (!isAllowed(channel, user)) {
    throw new HttpError("FORBIDDEN", `The user "${user.name}" may not see dead letters of the ${channel}.`, {
      detail: `They have push tokens in them: that needs the role ${roles.pushAdmin} as well.`,
    });
  }
  const office = offices[channel];
  if (office !== undefined) return office;
  throw new HttpError("NOT_FOUND", "No push feedback is read here.", {
    detail: "KAFKA_PUSH_FEEDBACK_TOPIC is not set.",
  });
}
