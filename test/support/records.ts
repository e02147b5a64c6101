import assert from "node:assert/strict";

import type { RejectionError } from "@topicsync/lib/errors";
import type { RecordHeader, RecordHeaders } from "@topicsync/kafka";
import { decode } from "../../consumers/announcements/decode.ts";
import type { Announcement } from "../../src/topics/announcement.ts";

/** Headers by name; a list stands for a header that occurs more than once. */
export type NamedHeaders = Readonly<Record<string, RecordHeader[1] | readonly RecordHeader[1][]>>;

export const toHeaders = (named: NamedHeaders): RecordHeaders =>
  Object.entries(named).flatMap(([name, given]) => [given].flat().map((value) => [name, value] as const));

/** A record to decode; objects are sent as JSON. */
export interface Given {
  readonly value: string | Buffer | object | null;
  readonly key?: string | Buffer | null;
  readonly headers?: NamedHeaders;
}

/** Decodes a record at offset 5. */
export const decodeRecord = ({ value, key = null, headers = {} }: Given): Announcement =>
  decode({
    offset: 5,
    timestamp: "0",
    headers: toHeaders(headers),
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : toBytes(value),
  });

/** Asserts that a record is rejected, and returns the rejection. */
export function decodeRejection(given: Given): RejectionError {
  const announcement = decodeRecord(given);
  assert.ok(
    announcement.kind === "unusable",
    `expected a rejection, but got ${JSON.stringify(announcement)}`,
  );
  return announcement.rejection;
}

export const listPaths = (rejection: RejectionError): string[] =>
  rejection.details.map(({ path }) => path).toSorted();

export const toBytes = (value: string | Buffer | object): Buffer =>
  Buffer.isBuffer(value) ? value : Buffer.from(typeof value === "string" ? value : JSON.stringify(value));

/** Confluent's frame before a value or key. */
export function addFrame(value: string | Buffer | object, schemaId = 7): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(schemaId, 1);
  return Buffer.concat([head, toBytes(value)]);
}

/** The required attributes of a CloudEvent, as the Kafka binding's examples have them. */
const attributes = {
  specversion: "1.0",
  type: "com.example.someevent",
  source: "/mycontext/subcontext",
  id: "1234-1234-1234",
};

/** A structured CloudEvent, with members added or replaced. */
export const createCloudEvent = (members: object): object => ({ ...attributes, ...members });

/** The headers of a CloudEvent in binary mode. */
export function createBinaryHeaders(): Record<string, Buffer>;
export function createBinaryHeaders(more: NamedHeaders): NamedHeaders;
export function createBinaryHeaders(more: NamedHeaders = {}): NamedHeaders {
  const own = Object.entries(attributes).map(([name, text]) => [`ce_${name}`, Buffer.from(text)] as const);
  return { ...Object.fromEntries(own), ...more };
}

export const toBase64 = (value: string | Buffer | object): string => toBytes(value).toString("base64");

/** A TMF688 notification, with the members of the example in the API's document. */
export const createNotification = (eventType: string, topic: object): object => ({
  eventId: "00001",
  eventTime: "2026-11-16T16:42:25-04:00",
  eventType,
  correlationId: "e1",
  domain: "assurance",
  title: eventType,
  description: "A topic",
  priority: "1",
  timeOcurred: "2026-11-16T16:42:25-04:00",
  event: { topic },
});
