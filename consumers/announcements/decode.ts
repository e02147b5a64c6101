import { isUtf8 } from "node:buffer";

import { RejectionError } from "@topicsync/lib/errors";
import { findFilterFaults } from "@topicsync/filters";
import type { LogRecord } from "@topicsync/kafka";
import type { Announcement } from "../../src/topics/announcement.ts";
import type { TopicDefinition } from "../../src/topics/topic.ts";
import { readFramedKey, unframe } from "../envelopes/confluent.ts";
import {
  createRejection,
  isFramed,
  isObject,
  toRejection,
  type JsonLocation,
} from "../envelopes/envelope.ts";
import { createBatchRejection, openEnvelopes } from "../envelopes/open.ts";
import { isNotification, readDefinition, readNotification, type TopicContent } from "./forms.ts";

/** The limit of an HTTP body: both accept the same topics. */
export const maxValueBytes = 100 * 1024;
const maxNamespaceCharacters = 1_000;

/**
 * Reads a record as an announcement (contract, section 4). Never throws: an unusable record carries its
 * rejection.
 */
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
    return { kind: "unusable", offset, rejection: toRejection(error, "announcement") };
  }
}

/**
 * The external id of a record's topic, also where the record is rejected: its key, or else the id in its
 * value, in any envelope. Undefined when there is none, or when it is too large to be read. Never throws.
 */
export function identifyTopic({ key, value, headers }: Pick<LogRecord, "key" | "value" | "headers">) {
  try {
    if (key !== null) return key.length > maxValueBytes ? undefined : readKey(key);
    if (value === null || value.length > maxValueBytes) return undefined;
    return findId(openEnvelopes(value, headers, "announcement").json);
  } catch {
    return undefined;
  }
}

/**
 * The namespace of a record's topic, also where the record is rejected: that of its definition, or the text
 * that a faulty definition has as its namespace. Undefined when there is neither. Never throws.
 */
export function findNamespace(record: Pick<LogRecord, "value" | "headers">): string | undefined {
  const { value, headers } = record;
  if (value === null || value.length > maxValueBytes) return undefined;
  try {
    const { json, location } = openEnvelopes(value, headers, "announcement");
    const namespace = getMember(findTopic(json), "namespace");
    if (typeof namespace === "string")
      return namespace.length > maxNamespaceCharacters ? undefined : namespace;
    return toContent(json, location).definition?.namespace;
  } catch {
    return undefined;
  }
}

const findTopic = (json: unknown): unknown =>
  isNotification(json) ? getMember(getMember(json, "event"), "topic") : json;

function findId(json: unknown): string | undefined {
  const topic = findTopic(json);
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
  const { json, location } = openEnvelopes(value, headers, "announcement");
  return toContent(json, location);
}

const toContent = (json: unknown, location: JsonLocation): TopicContent =>
  isNotification(json) ? readNotification(json, location) : readDefinition(json, location);

function requireKey({ key }: LogRecord): string {
  if (key === null) {
    throw new RejectionError(
      "MISSING_KEY",
      "A record without a value retires the topic that its key names, but it has no key.",
    );
  }
  return readKey(key);
}

/**
 * An announcement under another key could never be retired: its tombstone would not reach it. No key at all
 * is fine.
 */
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
