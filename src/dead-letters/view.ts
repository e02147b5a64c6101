import type { DeadLetterView, ReplayView } from "../../schemas/dead-letters.ts";
import type { RecordHeaders } from "../sync/records.ts";
import type { ListedLetter } from "./browse.ts";
import type { ReplayWithOutcome } from "./outcome.ts";

/** A replay as it is told. */
export const toReplayView = ({ on, sentTo, outcome }: ReplayWithOutcome): ReplayView => ({
  on: on.toISOString(),
  sentTo,
  outcome,
});

/** A letter as it is told, with all its bytes in base64. */
export function toDeadLetterView({ letter, copies, replays }: ListedLetter): DeadLetterView {
  const { id, at, source, time, code, message, details, key, value, omitted, replayOf } = letter;
  return {
    id,
    time: time?.toISOString() ?? null,
    code,
    message,
    externalId: letter.externalId ?? null,
    source: source ?? null,
    details: [...details],
    at,
    copies,
    key: key?.toString("base64") ?? null,
    value: value?.toString("base64") ?? null,
    headers: headerViews(letter.headers),
    omitted: omitted ?? null,
    replayOf: replayOf ?? null,
    replays: replays.map(toReplayView),
  };
}

/** A name stands once for each of its values. */
const headerViews = (headers: RecordHeaders): DeadLetterView["headers"] =>
  Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => ({ name, value: Buffer.from(value).toString("base64") })),
  );
