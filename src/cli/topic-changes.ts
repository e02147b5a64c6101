import { topicBodySchema, type TopicBody } from "../../schemas/topic.ts";
import { Refusal, sentenceOf } from "../lib/errors.ts";
import { createRetiredTopicStore } from "../storage/retired-topics.ts";
import { createTopicStore } from "../storage/topics.ts";
import { createTopicService } from "../topics/service.ts";
import { createTopicSwitch, UnknownTopic, type Switched } from "../topics/switch.ts";
import type { ShownTopic } from "../topics/topic.ts";
import { whereaboutsOf } from "../topics/whereabouts.ts";
import { checkOf } from "../lib/validation.ts";
import type { Connected } from "./connected.ts";
import type { JsonFlag } from "./json-flag.ts";
import { commandLineUser } from "./os-user.ts";
import { say, visible } from "./output.ts";
import { topicJson, topicText } from "./topic-view.ts";

const checkTopic = checkOf<TopicBody>(topicBodySchema);

/** Creates a topic by the one service that makes topics. Throws a Refusal. */
export async function add(
  { database, audit, log }: Connected,
  body: TopicBody,
  { json }: JsonFlag,
): Promise<void> {
  const checked = checkTopic(body);
  if (!checked.ok)
    throw new Refusal("SCHEMA_VIOLATION", sentenceOf(checked.faults, "The topic"), checked.faults);
  const record = audit();
  const service = createTopicService(createTopicStore(await database(), log));
  const topic = await service.create(checked.value, commandLineUser());
  record({ action: "topic.created", externalId: topic.externalId, id: topic.id });
  tell({ topic }, "added", json);
}

/** Shows an active topic, or else the last retired one of that external id. */
export async function show(connection: Connected, externalId: string, { json }: JsonFlag): Promise<void> {
  const {
    active: [topic],
    last: [last],
  } = await whereaboutsOf(await storesOf(connection), [externalId]);
  const shown = topic === undefined ? last && { topic: last.topic, retired: last } : { topic };
  if (shown === undefined)
    throw unknown(new UnknownTopic(`there is no topic with the external id "${externalId}"`));
  if (json) say(JSON.stringify(topicJson(shown), undefined, 2));
  else process.stdout.write(topicText(shown));
}

/** See TopicSwitch. */
export async function disable(connection: Connected, externalId: string, { json }: JsonFlag): Promise<void> {
  const record = connection.audit();
  const { store, retired } = await storesOf(connection);
  const done = await known(createTopicSwitch({ store, retired }).disable(externalId, commandLineUser()));
  if (done.changed) record({ action: "topic.disabled", externalId, id: done.topic.id });
  const [last] = await retired.lastOf([externalId]);
  tell({ topic: done.topic, retired: last }, done.changed ? "disabled" : "is disabled already:", json);
}

/** See TopicSwitch. */
export async function enable(connection: Connected, externalId: string, { json }: JsonFlag): Promise<void> {
  const record = connection.audit();
  const done = await known(createTopicSwitch(await storesOf(connection)).enable(externalId));
  if (done.changed) record({ action: "topic.enabled", externalId, id: done.topic.id });
  tell({ topic: done.topic }, done.changed ? "enabled" : "is active already:", json);
}

async function storesOf({ database, log }: Connected) {
  const store = await database();
  return { store: createTopicStore(store, log), retired: createRetiredTopicStore(store) };
}

const known = (switching: Promise<Switched>): Promise<Switched> =>
  switching.catch((error: unknown) => {
    throw error instanceof UnknownTopic ? unknown(error) : error;
  });

const unknown = ({ message }: UnknownTopic): Error =>
  new Error(`${message}; \`topicsync topics list\` shows those there are`);

function tell(shown: ShownTopic, done: string, json: true | undefined): void {
  const { externalId, name } = shown.topic;
  say(json ? JSON.stringify(topicJson(shown), undefined, 2) : visible(`${done} ${externalId} (${name})`));
}
