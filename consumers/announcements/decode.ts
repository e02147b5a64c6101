import { isUtf8 } from "node:buffer";

import { getErrorMessage, RejectionError } from "../../src/lib/errors.ts";
import { findFilterFaults } from "../../src/matching/filter/topic-filters.ts";
import type { LogRecord, SkippedBatch } from "../../src/sync/records.ts";
import type { Announcement } from "../../src/topics/announcement.ts";
import type { TopicDefinition } from "../../src/topics/topic.ts";
import {
  checkFormat,
  checkHeaders,
  describeMode,
  readEventData,
  rejectNested,
  type EventData,
} from "./envelopes/cloud-event.ts";
import { parseFramedJson, readFramedKey, toFramedLocation, unframe } from "./envelopes/confluent.ts";
import {
  createRejection,
  getCloudEventMode,
  isCloudEvent,
  isFramed,
  isNotification,
  isObject,
  parseJson,
  readAs,
  readDefinition,
  root,
  type JsonLocation,
  type TopicContent,
} from "./envelopes/envelope.ts";
import { readNotification } from "./envelopes/tmf688.ts";

/** The limit of an HTTP body: both accept the same topics. */
export const maxValueBytes = 100 * 1024;

/** Reads a record as an announcement (contract, section 4). Never throws: an unusable record carries its rejection. */
export function decode(record: LogRecord): Announcement {
  const { offset, value } = record;
  if (record.skippedBatch !== undefined)
    return { kind: "unusable", offset, rejection: createBatchRejection(record.skippedBatch) };
  try {
    if (value === null) return { kind: "retire", offset, externalId: requireKey(record) };
    const content = readContent(value, record);
    const { externalId, definition } = content;
    if (record.key !== null) checkKey(record.key, content);
    if (definition !== undefined) checkFilters(definition, content.location);
    return definition === undefined
      ? { kind: "retire", offset, externalId }
      : { kind: "define", offset, definition };
  } catch (error) {
    const rejection =
      error instanceof RejectionError
        ? error
        : new RejectionError("UNDECODABLE", `The announcement cannot be read: ${getErrorMessage(error)}`);
    return { kind: "unusable", offset, rejection };
  }
}

/** The rejection of records that were not read, since their batch is too large to be decompressed. */
export const createBatchRejection = ({ firstOffset, lastOffset, maxBytes }: SkippedBatch): RejectionError =>
  new RejectionError(
    "TOO_LARGE",
    `The records from offset ${firstOffset} to ${lastOffset} are one batch, which has more than ${maxBytes} bytes when it is decompressed. None of them was read.`,
  );

/**
 * The external id of a record's topic, also where the record is rejected: its key, or else the id in its value, in any
 * envelope. Undefined when there is none. Never throws.
 */
export function identifyTopic({ key, value, headers }: Pick<LogRecord, "key" | "value" | "headers">) {
  try {
    if (key !== null) return readKey(key);
    return value === null ? undefined : findId(openEnvelopes(value, headers).json);
  } catch {
    return undefined;
  }
}

function findId(json: unknown): string | undefined {
  const topic = isNotification(json) ? getMember(getMember(json, "event"), "topic") : json;
  const id = getMember(topic, "externalId") ?? (isNotification(json) ? getMember(topic, "id") : undefined);
  return typeof id === "string" ? id : undefined;
}

const getMember = (json: unknown, name: string): unknown =>
  isObject(json) && Object.hasOwn(json, name) ? json[name] : undefined;

function readContent(value: Buffer, { headers }: LogRecord): TopicContent {
  if (value.length > maxValueBytes) {
    throw new RejectionError(
      "TOO_LARGE",
      `The announcement has ${value.length} bytes; a topic definition has at most ${maxValueBytes}.`,
    );
  }
  const { json, location } = openEnvelopes(value, headers);
  return isNotification(json) ? readNotification(json, location) : readDefinition(json, location);
}

/** Opens the envelopes that the first byte, the headers and the members announce. Throws a RejectionError. */
function openEnvelopes(value: Buffer, headers: LogRecord["headers"]): EventData {
  const framed = isFramed(value) ? unframe(value, "value") : undefined;
  const outer = framed === undefined ? root : toFramedLocation(framed);
  const mode = getCloudEventMode(headers);
  const location = mode === undefined ? outer : readAs(describeMode(mode), outer);
  if (mode === "structured") checkFormat(headers, location);
  if (mode === "binary") checkHeaders(headers, location);
  const json = framed === undefined ? parseJson(value, location) : parseFramedJson(framed, location);

  if (mode === undefined && !isCloudEvent(json)) return { json, location };
  const data =
    mode === "binary"
      ? { json, location }
      : readEventData(json, mode === undefined ? readAs(describeMode("structured"), location) : location);
  rejectNested(data);
  return data;
}

function requireKey({ key }: LogRecord): string {
  if (key === null) {
    throw new RejectionError(
      "MISSING_KEY",
      "A record without a value retires the topic that its key names, but it has no key.",
    );
  }
  return readKey(key);
}

/** An announcement under another key could never be retired: its tombstone would not reach it. No key at all is fine. */
function checkKey(key: Buffer, content: TopicContent): void {
  const text = readKey(key);
  const { externalId, location, idMember } = content;
  if (text === externalId) return;
  throw createRejection(location, "KEY_MISMATCH", `has the external id "${externalId}", but another key.`, [
    { path: `/${idMember}`, message: `must be the record's key, which is "${text}"` },
  ]);
}

/** A filter that cannot be read would be stored and never match. */
function checkFilters(definition: TopicDefinition, location: JsonLocation): void {
  const faults = findFilterFaults(definition);
  if (faults.length > 0)
    throw createRejection(location, "BAD_FILTER", "has a filter that cannot be read.", faults);
}

function readKey(key: Buffer): string {
  if (isFramed(key)) return readFramedKey(unframe(key, "key"));
  if (!isUtf8(key)) throw new RejectionError("UNDECODABLE", "The record's key is not UTF-8 text.");
  return key.toString("utf8");
}
