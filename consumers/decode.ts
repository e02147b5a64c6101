import { isUtf8 } from "node:buffer";

import { topicBodySchema, type TopicBody } from "../schemas/topic.ts";
import { messageOf, Refusal, sentenceOf } from "../src/errors.ts";
import type { LogRecord } from "../src/records.ts";
import type { Announcement } from "../src/topics/announcement.ts";
import { definitionOf, type TopicDefinition } from "../src/topics/topic.ts";
import { compile } from "../src/validation.ts";

/** As much as an HTTP body may have: the two ways in accept the same topics. */
const mostValueBytes = 100 * 1024;

const checkTopic = compile<TopicBody>(topicBodySchema);

/** Reads a record as an announcement (contract, section 4). Never throws: what cannot be used says why. */
export function decode(record: LogRecord): Announcement {
  const { offset } = record;
  try {
    if (record.value === null) return { kind: "retire", offset, externalId: requiredKey(record) };
    const definition = definitionIn(record.value);
    checkKey(record, definition);
    return { kind: "define", offset, definition };
  } catch (error) {
    const refusal =
      error instanceof Refusal
        ? error
        : new Refusal("UNDECODABLE", `The announcement cannot be read: ${messageOf(error)}`);
    return { kind: "unusable", offset, refusal };
  }
}

/** The definition in a plain JSON value. Throws a Refusal. */
function definitionIn(value: Buffer): TopicDefinition {
  if (value.length > mostValueBytes) {
    throw new Refusal(
      "TOO_LARGE",
      `The announcement has ${value.length} bytes; a topic definition has at most ${mostValueBytes}.`,
    );
  }
  const checked = checkTopic(parseJson(textOf(value, "value")));
  if (checked.ok) return definitionOf(checked.value);
  throw new Refusal(
    "SCHEMA_VIOLATION",
    `The announcement is no topic definition. ${sentenceOf(checked.faults, "The value")}`,
    checked.faults,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal("MALFORMED_JSON", `The announcement is not JSON: ${messageOf(error)}`);
  }
}

function requiredKey({ key }: LogRecord): string {
  if (key === null) {
    throw new Refusal(
      "MISSING_KEY",
      "A record without a value retires the topic that its key names, but it has no key.",
    );
  }
  return textOf(key, "key");
}

/** A definition under another key could never be retired: its tombstone would not reach it. No key at all is fine. */
function checkKey({ key }: LogRecord, { externalId }: TopicDefinition): void {
  if (key === null) return;
  const text = textOf(key, "key");
  if (text === externalId) return;
  const message = `must be the record's key, which is "${text}"`;
  throw new Refusal(
    "KEY_MISMATCH",
    `The record's key is "${text}", but its external id is "${externalId}".`,
    [{ path: "/externalId", message }],
  );
}

function textOf(bytes: Buffer, what: "key" | "value"): string {
  if (!isUtf8(bytes)) throw new Refusal("UNDECODABLE", `The record's ${what} is not UTF-8 text.`);
  return bytes.toString("utf8");
}
