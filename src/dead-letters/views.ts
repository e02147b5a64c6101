import type { RejectionCode } from "@topicsync/lib/errors";
import { formatRecordPosition, measureRecord, type RecordHeaders } from "@topicsync/kafka";
import type { DeadLetterItem, DeadLetterView, ReplayView } from "../../schemas/dead-letters/dead-letter.ts";
import type { DeadLetter } from "./dead-letter.ts";
import type { ReplayWithOutcome } from "./outcomes.ts";
import type { DeadLetterSummary } from "./summary.ts";

/** A dead letter in a list, with its last replay. */
export const toDeadLetterItem = (
  { id, time, code, message, externalId, source }: DeadLetterSummary,
  replay: ReplayWithOutcome | undefined,
): DeadLetterItem => ({
  id,
  time: time?.toISOString() ?? null,
  code,
  message,
  externalId: externalId ?? null,
  source: source ?? null,
  replay: replay === undefined ? null : toReplayView(replay),
});

/** A larger record would take several times as much memory in base64 and JSON. */
const maxViewBytes = 4 * 1024 * 1024;

/** Everything about a dead letter, with all its bytes in base64 unless they are too many. */
export const toDeadLetterView = (
  letter: DeadLetter,
  copies: number,
  replays: readonly ReplayWithOutcome[],
): DeadLetterView => ({
  id: letter.id,
  time: letter.time?.toISOString() ?? null,
  code: letter.code,
  message: letter.message,
  externalId: letter.externalId ?? null,
  source: letter.source ?? null,
  details: [...letter.details],
  position: letter.position,
  copies,
  ...toContentView(letter),
  contentHidden: false,
  replayOf: letter.replayOf ?? null,
  replays: replays.map(toReplayView),
});

function toContentView(letter: DeadLetter): Pick<DeadLetterView, "key" | "value" | "headers" | "omitted"> {
  const { key, value, headers, omitted = null, position } = letter;
  const bytes = measureRecord(letter);
  if (bytes > maxViewBytes) {
    const reason = `too large to show: the ${bytes} bytes are at ${formatRecordPosition(position)}`;
    return { key: null, value: null, headers: [], omitted: reason };
  }
  return {
    key: key?.toString("base64") ?? null,
    value: value?.toString("base64") ?? null,
    headers: toHeaderViews(headers),
    omitted,
  };
}

/** Codes of messages that name topics and limits, and never quote the record. */
const codesWithoutContent: ReadonlySet<string> = new Set<RejectionCode>([
  "TOO_LARGE",
  "TOO_MANY_TOPICS",
  "BAD_EGRESS_NAME",
  "NO_EGRESS_TOPIC",
  "EGRESS_REJECTED",
]);

/** What is shown of the dead letter of an event to users who may not see its content. */
export const hideMessage = <T extends Pick<DeadLetterItem, "code" | "message">>(item: T): T =>
  codesWithoutContent.has(item.code) ? item : { ...item, message: "Not shown: it may quote the event." };

export const hideContent = (view: DeadLetterView): DeadLetterView => ({
  ...view,
  key: null,
  value: null,
  headers: [],
  contentHidden: true,
});

/** The faults of an event may quote it. */
export const hideFaults = (view: DeadLetterView): DeadLetterView => ({
  ...hideMessage(view),
  details: codesWithoutContent.has(view.code) ? view.details : [],
});

const toHeaderViews = (headers: RecordHeaders): DeadLetterView["headers"] =>
  headers.map(([name, value]) => ({
    name,
    value: value === null ? null : Buffer.from(value).toString("base64"),
  }));

export const toReplayView = ({ startedAt, sentTo, outcome }: ReplayWithOutcome): ReplayView => ({
  replayedAt: startedAt.toISOString(),
  sentTo,
  outcome,
});
