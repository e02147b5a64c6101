import type { TopicDefinition } from "../../../../src/topics/topic.ts";
import type { Random } from "../../../support/random.ts";
import { encodeDefinition, encodeTombstone, pickEnvelope, type EncodedRecord } from "../envelopes.ts";
import { moveHeader, type GeneratedRecord } from "../generator.ts";
import {
  createVocabulary,
  maxCount,
  maxPriority,
  pickTime,
  popularType,
  regions,
  severities,
  tags,
} from "./vocabulary.ts";

/** When a record was generated, in milliseconds since 1970; it is sent later. */
export const sentHeader = "chaos-sent-at";

export interface TopicOptions {
  readonly topics: number;
  readonly partitions: number;
}

/** Announces topics and changes them, reproducibly. A topic's announcements are all in one partition. */
export function createTopicGenerator(random: Random, { topics, partitions }: TopicOptions) {
  const { pickEventType, pickSite } = createVocabulary(random.fork(), topics);
  let created = 0;
  const live: string[] = [];
  const retired: string[] = [];

  const pickList = (values: readonly string[], max: number): string =>
    random.shuffle(values).slice(0, random.between(1, max)).map(encodeURIComponent).join();

  function pickRange(path: string, max: number): string {
    const low = random.between(0, max - 1);
    const high = low + Math.ceil((max - low) * 0.4);
    return random.pick([`${path}>=${low}&${path}<${high}`, `${path}>${low}`, `${path}<=${low}`]);
  }

  const contentConditions = [
    () => `alarm.severity=${pickList(severities, 2)}`,
    () => `event.alarm.severity=${random.pick(severities)}&alarm.severity=${random.pick(severities)}`,
    () => `alarm.severity!=${pickList(severities, 3)}`,
    () => pickRange("alarm.count", maxCount),
    () => `alarm.site=${pickSite()},${pickSite()}`,
    () => `alarm.site<${pickSite()}`,
    () => `event.alarm.tags=${pickList(tags, 2)}`,
    () => `alarm.tags!=${pickList(tags, 4)}`,
    () => `alarm.raisedOn${random.pick([">", "<="])}${pickTime(random)}`,
    () => `alarm.acknowledged=${random.pick(["true", "false"])}`,
  ] as const;

  const pickConditions = (max: number): string =>
    random
      .shuffle(contentConditions)
      .slice(0, random.between(1, max))
      .map((create) => create())
      .join("&");

  const kinds = [
    [70, () => [`eventType=${pickEventType()}`, pickConditions(3)]],
    [8, () => [`eventType=${pickEventType()},${pickEventType()}`, pickConditions(3)]],
    [10, () => [`eventType=${pickEventType()}&source.region!=${pickList(regions, 3)}`, pickConditions(2)]],
    [6, () => [`eventType=${popularType},${pickEventType()}`, ""]],
    [3, () => [`priority>=${random.between(maxPriority - 10, maxPriority)}`, ""]],
    [3, () => [`eventType=${pickEventType()}&eventType=${pickEventType()}`, pickConditions(3)]],
  ] as const;

  function define(externalId: string): EncodedRecord {
    const [headerQuery = "", contentQuery = ""] = random.pickWeighted(kinds)();
    const definition: TopicDefinition = {
      externalId,
      name: externalId,
      namespace: "",
      headerQuery,
      contentQuery,
    };
    return encodeDefinition(pickEnvelope(random), definition, random);
  }

  const toRecord = (externalId: string, record: EncodedRecord, move: string): GeneratedRecord => ({
    ...record,
    partition: Number(/\d+$/.exec(externalId)?.[0] ?? 0) % partitions,
    headers: { ...record.headers, [moveHeader]: move, [sentHeader]: String(Date.now()) },
  });

  function create(): GeneratedRecord {
    created += 1;
    const externalId = `${random.pick(["topic", "tópic", "a/b", "😀"])} ${created}`;
    live.push(externalId);
    return toRecord(externalId, define(externalId), "new");
  }

  function retire(): GeneratedRecord {
    const [externalId] = live.splice(random.between(0, live.length - 1), 1);
    if (externalId === undefined) return create();
    retired.push(externalId);
    return toRecord(externalId, encodeTombstone(pickEnvelope(random), externalId, random), "retired");
  }

  function createAgain(): GeneratedRecord {
    const [externalId] = retired.splice(random.between(0, retired.length - 1), 1);
    if (externalId === undefined) return create();
    live.push(externalId);
    return toRecord(externalId, define(externalId), "created again");
  }

  function change(): GeneratedRecord {
    const externalId = random.pickOptional(live);
    return externalId === undefined ? create() : toRecord(externalId, define(externalId), "changed");
  }

  const changes = [
    [50, change],
    [15, create],
    [20, retire],
    [15, createAgain],
  ] as const;

  return {
    createAll: (): GeneratedRecord[] => Array.from({ length: topics }, create),
    takeChanges: (count: number): GeneratedRecord[] =>
      Array.from({ length: count }, () => random.pickWeighted(changes)()),
  };
}
