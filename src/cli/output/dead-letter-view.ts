import { isUtf8 } from "node:buffer";

import ms from "ms";

import type { ListedLetter } from "../../dead-letters/browse.ts";
import { outcomeText } from "../../dead-letters/outcome.ts";
import { type RecordHeaders, formatRecordPosition } from "../../sync/records.ts";
import { sanitize } from "./output.ts";
import { formatMinute } from "./format.ts";
import type { Column } from "./table.ts";

const whenWidth = 22;
const codeWidth = 21;
const replayedWidth = 37;
const keyWidth = 24;
const narrowestMessage = 20;
const betweenColumns = 2;

/** The columns of a list; the last is cut to the terminal's width, and not at all where the output is no terminal. */
export function listColumns(widestId: number, terminal: number | undefined): readonly Column[] {
  const fixed = [
    { head: "id", width: Math.max(widestId, 2) },
    { head: "when", width: whenWidth },
    { head: "code", width: codeWidth },
    { head: "replayed", width: replayedWidth },
    { head: "key", width: keyWidth },
  ];
  const message = { head: "message" };
  if (terminal === undefined) return [...fixed, message];
  const taken = fixed.reduce((sum, { width }) => sum + width + betweenColumns, 0);
  return [...fixed, { ...message, width: Math.max(terminal - taken, narrowestMessage) }];
}

/** A letter as a line of the list. */
export function listRow({ letter, replays }: ListedLetter, now: number): readonly string[] {
  const last = replays.at(-1);
  return [
    sanitize(letter.id),
    letter.time === undefined ? "unknown" : `${formatMinute(letter.time)} ${ageOf(letter.time, now)}`,
    letter.code,
    last === undefined ? "no" : outcomeText(last.outcome),
    letter.key === null ? "" : sanitize(textOrHex(letter.key)),
    sanitize(letter.message),
  ];
}

/** A letter for programs. Bytes that are no UTF-8 text stand in base64 under another name. */
export function letterJson({ letter, copies, replays }: ListedLetter): Record<string, unknown> {
  const { id, at, source, time, code, message, details, key, value, omitted, replayOf } = letter;
  return {
    id,
    at,
    source,
    time: time?.toISOString(),
    code,
    message,
    details,
    ...bytesJson("key", key),
    ...bytesJson("value", value),
    headers: headerTexts(letter.headers).map(([name, text]) => ({ name, value: text })),
    omitted,
    replayOf,
    copies,
    replays: replays.map(({ id: replay, on, state, sentTo, outcome }) => {
      return { id: replay, on: on.toISOString(), state, sentTo, outcome };
    }),
  };
}

/** Everything about a letter, for people. */
export function letterText({ letter, copies, replays }: ListedLetter, now: number): string {
  const { id, at, source, time, code, message, details, key, value, omitted, replayOf } = letter;
  const when = time === undefined ? "unknown" : `${time.toISOString()} (${ageOf(time, now)} ago)`;
  const lines: (readonly [string, string])[] = [
    ["id", id],
    ["announced", when],
    [
      "from",
      source === undefined
        ? "unknown"
        : `offset ${source.offset} of ${source.topic}-${source.partition}${source.epoch === undefined ? "" : `, epoch ${source.epoch} of its log`}`,
    ],
    ["lies at", `${formatRecordPosition(at)}${copies === 1 ? "" : `, the last of ${copies} copies`}`],
    ["code", code],
    ["message", message],
    ...details.map(
      (fault) => ["detail", `${fault.path === "" ? "the whole" : fault.path} ${fault.message}`] as const,
    ),
    ["key", key === null ? "none" : textOrHex(key)],
    ...headerTexts(letter.headers).map(([name, text]) => ["header", `${name}: ${text}`] as const),
    ...(replayOf === undefined ? [] : [["replay of", replayOf] as const]),
    ...replays.map(({ on, outcome, sentTo }) => {
      const again = outcome.kind === "refused again" ? `, as ${outcome.letter}` : "";
      const place =
        sentTo.offset === undefined
          ? ""
          : ` (offset ${sentTo.offset} of ${sentTo.topic}-${sentTo.partition ?? 0})`;
      return ["replayed", `${on.toISOString()}: ${outcomeText(outcome)}${again}${place}`] as const;
    }),
    ["value", omitted ?? (value === null ? "none: a tombstone" : `${value.length} bytes`)],
  ];
  const head = lines.map(([name, text]) => `${name.padEnd(10)} ${sanitize(text)}\n`).join("");
  return value === null ? head : `${head}\n${valueText(value)}\n`;
}

const maxDumped = 1_024;
const dumpedALine = 16;

/** Pretty where it is JSON, as it is where it is text, else a hex dump of its first kB. */
function valueText(value: Buffer): string {
  if (!isUtf8(value)) return hexDump(value);
  return prettyOr(value.toString()).split("\n").map(sanitize).join("\n");
}

function prettyOr(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

function hexDump(value: Buffer): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(value.length, maxDumped); at += dumpedALine) {
    const part = value.subarray(at, Math.min(at + dumpedALine, maxDumped));
    const hex = [...part].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = part.toString("latin1").replaceAll(/[^ -~]/g, ".");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(3 * dumpedALine)} ${text}`);
  }
  if (value.length > maxDumped)
    lines.push(`… ${value.length - maxDumped} bytes more; --raw writes all of them`);
  return lines.join("\n");
}
const ageOf = (time: Date, now: number): string => ms(Math.max(now - time.getTime(), 0));
const textOrHex = (bytes: Buffer): string =>
  isUtf8(bytes) ? bytes.toString() : `0x${bytes.toString("hex")}`;

function bytesJson(name: string, bytes: Buffer | null): Record<string, string | null> {
  if (bytes === null || isUtf8(bytes)) return { [name]: bytes?.toString() ?? null };
  return { [`${name}Base64`]: bytes.toString("base64") };
}

/** A name stands once for each of its values. */
const headerTexts = (headers: RecordHeaders): [name: string, text: string][] =>
  Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []]
      .flat()
      .map((value): [string, string] => [name, typeof value === "string" ? value : textOrHex(value)]),
  );
