import { useSearchParams } from "wouter-preact";

import type { DeadLetterChannel } from "../../../../schemas/dead-letters.ts";

/** Where the service has the dead letters. */
export const lettersPath = "/api/topicsync/v1/dead-letters";
export const replayPath = `${lettersPath}/replays`;
export const outcomesPath = `${lettersPath}/replay-outcomes`;

/** A query, without what is not given. */
export function toQuery(given: Readonly<Record<string, string | undefined>>): string {
  const known = Object.entries(given).filter((one): one is [string, string] => one[1] !== undefined);
  return known.length === 0 ? "" : `?${new URLSearchParams(known).toString()}`;
}

/** The one that is meant where none is named; the address does not name it either. */
const usual: DeadLetterChannel = "announcements";

/** A channel as the address has it. */
const named = (channel: DeadLetterChannel): string | undefined => (channel === usual ? undefined : channel);

/** The page of a letter. */
export const pageOfLetter = (id: string, channel: DeadLetterChannel = usual): string =>
  `/dead-letters/${encodeURIComponent(id)}${toQuery({ channel: named(channel) })}`;

/** Which letters the address of the page asks for. */
export interface LetterChoice {
  readonly channel: DeadLetterChannel;
  readonly code: string | undefined;
  readonly replayed: "true" | "false" | undefined;
}

/** The list with these letters. */
export const pageOfChoice = ({ channel, code, replayed }: LetterChoice): string =>
  `/dead-letters${toQuery({ channel: named(channel), code, replayed })}`;

/** What the address asks for. */
export function useChoice(): LetterChoice {
  const [query] = useSearchParams();
  const replayed = query.get("replayed");
  return {
    channel: query.get("channel") === "push-feedback" ? "push-feedback" : usual,
    code: query.get("code") ?? undefined,
    replayed: replayed === "true" || replayed === "false" ? replayed : undefined,
  };
}
