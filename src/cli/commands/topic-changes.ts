import { topicBodySchema, type TopicBody } from "../../../schemas/topic.ts";
import { RefusalError, toSentence } from "../../lib/errors.ts";
import { createRetiredTopicStore } from "../../storage/retired-topics.ts";
import { createTopicStore } from "../../storage/topics.ts";
import { createTopicService } from "../../topics/service.ts";
import { createTopicSwitch, UnknownTopicError, type Switched } from "../../topics/switch.ts";
import type { ListedTopic } from "../../topics/topic.ts";
import { findActiveAndRetired } from "../../topics/whereabouts.ts";
import { createValidator } from "../../lib/validation.ts";
import type { CommandContext } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { commandLineUser } from "../os-user.ts";
import { printLine, sanitize } from "../output/output.ts";
import { topicJson, topicText } from "../output/topic-view.ts";

const checkTopic = createValidator<TopicBody>(topicBodySchema);

/** Creates a topic by the one service that makes topics. Throws a RefusalError. */
export async function addTopic(
  { database, audit, log }: CommandContext,
  body: TopicBody,
  { json }: JsonFlag,
): Promise<void> {
  const checked = checkTopic(body);
  if (!checked.ok)
    throw new RefusalError("SCHEMA_VIOLATION", toSentence(checked.faults, "The topic"), checked.faults);
  const record = audit();
  const service = createTopicService(createTopicStore(await database(), log));
  const { topic, event } = await service.create(checked.value, commandLineUser());
  record(event);
  tell({ topic }, "added", json);
}

/** Shows an active topic, or else the last retired one of that external id. */
export async function showTopic(
  connection: CommandContext,
  externalId: string,
  { json }: JsonFlag,
): Promise<void> {
  const {
    active: [topic],
    last: [last],
  } = await findActiveAndRetired(await storesOf(connection), [externalId]);
  const shown = topic === undefined ? last && { topic: last.topic, retired: last } : { topic };
  if (shown === undefined)
    throw unknown(new UnknownTopicError(`there is no topic with the external id "${externalId}"`));
  if (json) printLine(JSON.stringify(topicJson(shown), undefined, 2));
  else process.stdout.write(topicText(shown));
}

/** See TopicSwitch. */
export async function disableTopic(
  connection: CommandContext,
  externalId: string,
  { json }: JsonFlag,
): Promise<void> {
  const record = connection.audit();
  const { store, retired } = await storesOf(connection);
  const done = await known(createTopicSwitch({ store, retired }).disable(externalId, commandLineUser()));
  if (done.changed) record({ action: "topic.disabled", externalId, id: done.topic.id });
  const [last] = await retired.lastOf([externalId]);
  tell({ topic: done.topic, retired: last }, done.changed ? "disabled" : "is disabled already:", json);
}

/** See TopicSwitch. */
export async function enableTopic(
  connection: CommandContext,
  externalId: string,
  { json }: JsonFlag,
): Promise<void> {
  const record = connection.audit();
  const done = await known(createTopicSwitch(await storesOf(connection)).enable(externalId));
  if (done.changed) record({ action: "topic.enabled", externalId, id: done.topic.id });
  tell({ topic: done.topic }, done.changed ? "enabled" : "is active already:", json);
}

async function storesOf({ database, log }: CommandContext) {
  const store = await database();
  return { store: createTopicStore(store, log), retired: createRetiredTopicStore(store) };
}

const known = (switching: Promise<Switched>): Promise<Switched> =>
  switching.catch((error: unknown) => {
    throw error instanceof UnknownTopicError ? unknown(error) : error;
  });

const unknown = ({ message }: UnknownTopicError): Error =>
  new Error(`${message}; \`topicsync topics list\` shows those there are`);

function tell(shown: ListedTopic, done: string, json: true | undefined): void {
  const { externalId, name } = shown.topic;
  printLine(
    json ? JSON.stringify(topicJson(shown), undefined, 2) : sanitize(`${done} ${externalId} (${name})`),
  );
}
