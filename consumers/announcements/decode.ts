import { isUtf8 } from "node:buffer";

import { getErrorMessage, RefusalError } from "../../src/lib/errors.ts";
import { findFilterFaults } from "../../src/matching/filter/topic-filters.ts";
import type { LogRecord, SkippedBatch } from "../../src/sync/records.ts";
import type { Announcement } from "../../src/topics/announcement.ts";
import type { TopicDefinition } from "../../src/topics/topic.ts";
import {
  checkFormat,
  checkHeaders,
  getEventData,
  type EventData,
  describeMode,
  isCloudEvent,
  getMode,
  refuseNested,
} from "./envelopes/cloud-event.ts";
import { framedJson, framedKey, framedPlace, isFramed, unframe } from "./envelopes/confluent.ts";
import { definitionContent, type Content } from "./envelopes/content.ts";
import { isObject, jsonIn } from "./envelopes/json.ts";
import { plain, readAs, createRefusal, type JsonLocation } from "./envelopes/place.ts";
import { isNotification, notificationContent } from "./envelopes/tmf688.ts";

/** As much as an HTTP body may have: the two ways in accept the same topics. */
export const maxValueBytes = 100 * 1024;

/** Reads a record as an announcement (contract, section 4). Never throws: what cannot be used says why. */
export function decode(record: LogRecord): Announcement {
  const { offset, value } = record;
  if (record.skippedBatch !== undefined)
    return { kind: "unusable", offset, refusal: refuseBatch(record.skippedBatch) };
  try {
    if (value === null) return { kind: "retire", offset, externalId: requiredKey(record) };
    const content = contentOf(value, record);
    const { externalId, definition } = content;
    if (record.key !== null) checkKey(record.key, content);
    if (definition !== undefined) checkFilters(definition, content.place);
    return definition === undefined
      ? { kind: "retire", offset, externalId }
      : { kind: "define", offset, definition };
  } catch (error) {
    const refusal =
      error instanceof RefusalError
        ? error
        : new RefusalError("UNDECODABLE", `The announcement cannot be read: ${getErrorMessage(error)}`);
    return { kind: "unusable", offset, refusal };
  }
}

/** The refusal of records that were not read, since their batch is too large to be decompressed. */
export const refuseBatch = ({ firstOffset, lastOffset, maxBytes }: SkippedBatch): RefusalError =>
  new RefusalError(
    "TOO_LARGE",
    `The records from offset ${firstOffset} to ${lastOffset} are one batch, which has more than ${maxBytes} bytes when it is decompressed. None of them was read.`,
  );

/**
 * The external id of the topic that a record speaks of, also where the record is refused: its key, or else what its value says in
 * whatever envelope. Undefined when it says nothing. Never throws.
 */
export function identifyTopic({ key, value, headers }: Pick<LogRecord, "key" | "value" | "headers">) {
  try {
    if (key !== null) return keyText(key);
    return value === null ? undefined : idIn(openEnvelopes(value, headers).json);
  } catch {
    return undefined;
  }
}

function idIn(json: unknown): string | undefined {
  const topic = isNotification(json) ? memberOf(memberOf(json, "event"), "topic") : json;
  const id = memberOf(topic, "externalId") ?? (isNotification(json) ? memberOf(topic, "id") : undefined);
  return typeof id === "string" ? id : undefined;
}

const memberOf = (json: unknown, name: string): unknown =>
  isObject(json) && Object.hasOwn(json, name) ? json[name] : undefined;

function contentOf(value: Buffer, { headers }: LogRecord): Content {
  if (value.length > maxValueBytes) {
    throw new RefusalError(
      "TOO_LARGE",
      `The announcement has ${value.length} bytes; a topic definition has at most ${maxValueBytes}.`,
    );
  }
  const { json, place } = openEnvelopes(value, headers);
  return isNotification(json) ? notificationContent(json, place) : definitionContent(json, place);
}

/** Opens a value by what the record says of itself: its first byte, its headers and its members. Throws a RefusalError. */
function openEnvelopes(value: Buffer, headers: LogRecord["headers"]): EventData {
  const framed = isFramed(value) ? unframe(value, "value") : undefined;
  const root = framed === undefined ? plain : framedPlace(framed);
  const mode = getMode(headers);
  const place = mode === undefined ? root : readAs(describeMode(mode), root);
  if (mode === "structured") checkFormat(headers, place);
  if (mode === "binary") checkHeaders(headers, place);
  const json = framed === undefined ? jsonIn(value, place) : framedJson(framed, place);

  if (mode === "binary") return unnested({ json, place });
  if (mode === "structured") return unnested(getEventData(json, place));
  if (isCloudEvent(json)) return unnested(getEventData(json, readAs(describeMode("structured"), place)));
  return { json, place };
}

function unnested(data: EventData): EventData {
  refuseNested(data);
  return data;
}

function requiredKey({ key }: LogRecord): string {
  if (key === null) {
    throw new RefusalError(
      "MISSING_KEY",
      "A record without a value retires the topic that its key names, but it has no key.",
    );
  }
  return keyText(key);
}

/** An announcement under another key could never be retired: its tombstone would not reach it. No key at all is fine. */
function checkKey(key: Buffer, content: Content): void {
  const text = keyText(key);
  if (text !== content.externalId) throw keyMismatch(text, content);
}

/** A filter that cannot be read would be stored and never match. */
function checkFilters(definition: TopicDefinition, place: JsonLocation): void {
  const faults = findFilterFaults(definition);
  if (faults.length > 0)
    throw createRefusal(place, "BAD_FILTER", "has a filter that cannot be read.", faults);
}

const keyMismatch = (key: string, { externalId, place, idMember }: Content): RefusalError =>
  createRefusal(place, "KEY_MISMATCH", `has the external id "${externalId}", but another key.`, [
    { path: `/${idMember}`, message: `must be the record's key, which is "${key}"` },
  ]);

function keyText(key: Buffer): string {
  if (isFramed(key)) return framedKey(unframe(key, "key"));
  if (!isUtf8(key)) throw new RefusalError("UNDECODABLE", "The record's key is not UTF-8 text.");
  return key.toString("utf8");
}
