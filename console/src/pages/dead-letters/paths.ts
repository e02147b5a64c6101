import { useSearchParams } from "wouter-preact";

import type { DeadLetterChannel } from "../../../../schemas/dead-letters/dead-letter.ts";

export const deadLettersPath = "/api/topicsync/v1/dead-letters";
export const replaysPath = `${deadLettersPath}/replays`;
export const outcomesPath = `${deadLettersPath}/replay-outcomes`;

/** Formats a query string; undefined parameters are left out. */
export function formatQuery(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((one): one is [string, string] => one[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

const defaultChannel: DeadLetterChannel = "announcements";
const otherChannels: readonly DeadLetterChannel[] = ["push-feedback", "events"];

/** The channel as a query parameter; the default one is left out. */
const toParameter = (channel: DeadLetterChannel): string | undefined =>
  channel === defaultChannel ? undefined : channel;

/** The address of a dead letter's page. */
export const toDeadLetterHref = (id: string, channel: DeadLetterChannel = defaultChannel): string =>
  `/dead-letters/${encodeURIComponent(id)}${formatQuery({ channel: toParameter(channel) })}`;

export interface ListFilter {
  readonly channel: DeadLetterChannel;
  readonly code: string | undefined;
  readonly replayed: "true" | "false" | undefined;
}

/** The address of the list with this filter. */
export const toListHref = ({ channel, code, replayed }: ListFilter): string =>
  `/dead-letters${formatQuery({ channel: toParameter(channel), code, replayed })}`;

/** The filter in the address of the page. */
export function useListFilter(): ListFilter {
  const [query] = useSearchParams();
  const replayed = query.get("replayed");
  return {
    channel: otherChannels.find((one) => one === query.get("channel")) ?? defaultChannel,
    code: query.get("code") ?? undefined,
    replayed: replayed === "true" || replayed === "false" ? replayed : undefined,
  };
}
