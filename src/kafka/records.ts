import type { KafkaMessage } from "kafkajs";

import type { LogRecord, RecordHeaders } from "../sync/records.ts";
import { findSkippedBatch } from "./codecs/record-batches.ts";

/** Most announcements have no headers. */
const none: RecordHeaders = Object.freeze({});

/** A message of kafkajs as the rest of the program knows it. */
export function toLogRecord(message: KafkaMessage): LogRecord {
  const { offset, timestamp, key, value, headers } = message;
  const record = { offset: Number(offset), timestamp, key, value, headers: toHeaders(headers) };
  const skippedBatch = findSkippedBatch(message);
  return skippedBatch === undefined ? record : { ...record, skippedBatch };
}

/**
 * The headers, each value bytes or text. kafkajs 2.2.4 takes what every object inherits for a header's first value, so
 * one named `constructor` comes with a function beside it; and a header without a value, which Kafka allows, comes as
 * null. It can send neither on, and a refused announcement would hold the sync up for ever: null becomes empty.
 */
export function toHeaders(given: Readonly<Record<string, unknown>> = {}): RecordHeaders {
  const entries = Object.entries(given);
  if (entries.length === 0) return none;
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const values = [value].flat().map((one) => (one === null ? Buffer.alloc(0) : one));
      const sound = values.filter((one) => typeof one === "string" || Buffer.isBuffer(one));
      return [name, sound.length === 1 ? sound[0] : sound];
    }),
  );
}
