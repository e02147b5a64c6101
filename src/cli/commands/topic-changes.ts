import type { TopicDetail } from "../../../schemas/topic-view.ts";
import { topicBodySchema, type TopicBody } from "../../../schemas/topic.ts";
import type { AuditEvent } from "../../lib/audit.ts";
import { RejectionError, formatFaults } from "../../lib/errors.ts";
import { createValidator } from "../../lib/validation.ts";
import { changeTopic } from "../../topics/changing.ts";
import { requireUnmanaged } from "../../plans/guard.ts";
import { addDetails } from "../../topics/details-search.ts";
import { UnknownTopicError } from "../../topics/definition-change.ts";
import type { ListedTopic } from "../../topics/topic.ts";
import { toPastTopicDetail, toTopicDetail } from "../../topics/topic-view.ts";
import { addLastEvents } from "../../topics/usage.ts";
import { getCommandLineUser, type CommandContext } from "../context.ts";
import type { ForceFlag, JsonFlag } from "../input/options.ts";
import { printJson, printLine, sanitize } from "../output/output.ts";
import { formatTopic } from "../output/topic-view.ts";

const checkTopic = createValidator<TopicBody>(topicBodySchema);

/** Creates a topic. Throws a RejectionError. */
export async function addTopic(
  { services, audit }: CommandContext,
  body: TopicBody,
  { json }: JsonFlag,
): Promise<void> {
  const checked = checkTopic(body);
  if (!checked.ok)
    throw new RejectionError("SCHEMA_VIOLATION", formatFaults(checked.faults, "The topic"), checked.faults);
  const record = audit();
  const { topics, topicDetails } = await services();
  const { topic, event } = await topics.create(checked.value, getCommandLineUser());
  record(event);
  const [listed = { topic }] = await addDetails(topicDetails, [{ topic }], "all");
  print(listed, "added", json);
}

export interface ShowFlags extends JsonFlag {
  readonly version?: number;
  readonly at?: Date;
}

/** Shows an active topic, or else the last retired one of that external id; or one as it was. */
export async function showTopic(
  { services }: CommandContext,
  externalId: string,
  { json, version, at }: ShowFlags,
): Promise<void> {
  const { topicReader, topicHistory, topicDetails, topicUsage } = await services();
  if (version !== undefined || at !== undefined) {
    const past =
      at === undefined
        ? await topicHistory.findVersion(externalId, version ?? 0)
        : await topicHistory.findAt(externalId, at);
    const which = at === undefined ? `with the version ${version}` : `at ${at.toISOString()}`;
    if (past === undefined)
      throw new Error(
        `the history has no topic "${externalId}" ${which}; \`topicsync topics history\` lists versions`,
      );
    const details = at && (await topicHistory.findDetailsAt([past.topic.externalId], at))[0];
    show(toPastTopicDetail(past, details), json);
    return;
  }
  const found = await topicReader.findByAnyId(externalId);
  if (found === undefined) throw createUnknownTopicError(externalId);
  const [shown = found] = await addLastEvents(topicUsage, await addDetails(topicDetails, [found], "all"));
  show(toTopicDetail(shown), json);
}

function show(topic: TopicDetail, json: true | undefined): void {
  if (json) printJson(topic);
  else process.stdout.write(formatTopic(topic));
}

/** Disables or enables a topic; see DefinitionChange. */
export async function switchTopic(
  { services, audit }: CommandContext,
  command: "disable" | "enable",
  externalId: string,
  { json, force }: ForceFlag,
): Promise<void> {
  const record = audit();
  const { topics, topicReader, topicDetails } = await services();
  const action = `${command}d` as const;
  const mark =
    command === "disable"
      ? await requireUnmanaged(topicDetails, [externalId], { force: force === true, canSee: () => true })
      : (event: AuditEvent) => event;
  const { topic, changed, events } = await changeTopic(
    topics,
    { kind: command, externalId },
    { user: getCommandLineUser() },
  ).catch((error: unknown) => {
    throw error instanceof UnknownTopicError ? createUnknownTopicError(externalId) : error;
  });
  for (const event of events) record(mark(event));
  const found = (await topicReader.find(externalId)) ?? { topic };
  const [listed = found] = await addDetails(topicDetails, [found], "all");
  print(listed, changed ? action : `already ${action}:`, json);
}

export const createUnknownTopicError = (externalId: string): Error =>
  new Error(
    `there is no topic with the external id "${externalId}"; \`topicsync topics list\` shows all topics`,
  );

function print(listed: ListedTopic, action: string, json: true | undefined): void {
  const { externalId, name } = listed.topic;
  if (json) printJson(toTopicDetail(listed));
  else printLine(sanitize(`${action} ${externalId} (${name})`));
}
