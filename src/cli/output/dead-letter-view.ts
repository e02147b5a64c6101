import { isUtf8 } from "node:buffer";

import ms from "ms";

import { formatRecordPosition } from "@topicsync/kafka";
import type { DeadLetterItem, DeadLetterView } from "../../../schemas/dead-letters/dead-letter.ts";
import { formatOutcome } from "../../dead-letters/outcomes.ts";
import { formatMinute } from "./format.ts";
import { sanitize } from "./output.ts";
import type { Column } from "./table.ts";

/** The columns of a list. */
export const deadLetterColumns: readonly Column[] = [
  { head: "id" },
  { head: "time", width: 22 },
  { head: "code", width: 21 },
  { head: "replay", width: 32 },
  { head: "topic", width: 24 },
  { head: "message" },
];

/** A dead letter as a row of the list. */
export const toRow = (
  { id, time, code, replay, externalId, message }: DeadLetterItem,
  nowMs: number,
): readonly string[] => [
  sanitize(id),
  time === null ? "unknown" : `${formatMinute(new Date(time))} ${formatAge(time, nowMs)}`,
  code,
  replay === null ? "no" : formatOutcome(replay.outcome),
  sanitize(externalId ?? ""),
  sanitize(message),
];

const hiddenContent = "not shown: it requires the right dead-letters.read-content, that of events also admin";

/** The lines about a dead letter, for people. */
export function formatDeadLetter(letter: DeadLetterView, nowMs: number): string[] {
  const { id, position, source, time, code, message, details, headers, replayOf, replays } = letter;
  const omitted = letter.contentHidden ? hiddenContent : letter.omitted;
  const key = decode(letter.key);
  const value = decode(letter.value);
  const lines: (readonly [string, string])[] = [
    ["id", id],
    ["time", time === null ? "unknown" : `${time} (${formatAge(time, nowMs)} ago)`],
    ["source", source === null ? "unknown" : formatPosition(source)],
    ["position", `${formatRecordPosition(position)}${formatCopies(letter.copies)}`],
    ["code", code],
    ["message", message],
    ...details.map((fault) => ["detail", `${fault.path} ${fault.message}`.trimStart()] as const),
    ["key", letter.contentHidden ? hiddenContent : key === undefined ? "none" : formatBytes(key)],
    ...headers.map((header) => ["header", formatHeader(header)] as const),
    ...(replayOf === null ? [] : [["replay of", replayOf] as const]),
    ...replays.map((replay) => ["replayed", formatReplay(replay)] as const),
    ["value", omitted ?? (value === undefined ? "none (tombstone)" : `${value.length} bytes`)],
  ];
  const head = lines.map(([name, text]) => `${name.padEnd(10)} ${text}`);
  return value === undefined ? head : [...head, "", ...formatValue(value)];
}

function formatHeader({ name, value }: DeadLetterView["headers"][number]): string {
  const bytes = decode(value);
  return bytes === undefined ? `${name} without a value` : `${name}: ${formatBytes(bytes)}`;
}

const formatCopies = (copies: number): string => (copies === 1 ? "" : `, the last of ${copies} copies`);

type Source = NonNullable<DeadLetterView["source"]>;

const formatPosition = ({ topic, partition, offset, epoch }: Source): string =>
  `offset ${offset} of ${topic}-${partition}${epoch === undefined ? "" : `, epoch ${epoch}`}`;

function formatReplay({ replayedAt, outcome, sentTo }: DeadLetterView["replays"][number]): string {
  const again = outcome.deadLetterId === undefined ? "" : `, now ${outcome.deadLetterId}`;
  const { topic, partition, offset } = sentTo;
  const position =
    partition === undefined || offset === undefined
      ? ""
      : ` (${formatPosition({ topic, partition, offset })})`;
  return `${replayedAt}: ${formatOutcome(outcome)}${again}${position}`;
}

const maxDumpedBytes = 1_024;
const bytesPerLine = 16;

/** Indented JSON, other text as it is, or a hex dump of the first kB. */
const formatValue = (value: Buffer): string[] =>
  isUtf8(value) ? indentJson(value.toString()).split("\n") : formatHexDump(value);

function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

function formatHexDump(value: Buffer): string[] {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(value.length, maxDumpedBytes); at += bytesPerLine) {
    const part = value.subarray(at, Math.min(at + bytesPerLine, maxDumpedBytes));
    const hex = [...part].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = part.toString("latin1").replaceAll(/[^ -~]/g, ".");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(3 * bytesPerLine)} ${text}`);
  }
  if (value.length > maxDumpedBytes)
    lines.push(`… ${value.length - maxDumpedBytes} more bytes; --json prints all of them`);
  return lines;
}

const formatAge = (time: string, nowMs: number): string => ms(Math.max(nowMs - Date.parse(time), 0));

const formatBytes = (bytes: Buffer): string =>
  isUtf8(bytes) ? bytes.toString() : `0x${bytes.toString("hex")}`;

const decode = (base64: string | null): Buffer | undefined =>
  base64 === null ? undefined : Buffer.from(base64, "base64");
