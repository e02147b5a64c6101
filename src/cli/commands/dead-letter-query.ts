import { Option, type Command } from "commander";

import { UnavailableError } from "@topicsync/lib/errors";
import {
  deadLetterChannels,
  type DeadLetterChannel,
  type DeadLetterList,
} from "../../../schemas/dead-letters/dead-letter.ts";
import { deadLetterCodes } from "../../dead-letters/dead-letter.ts";
import { listDeadLetters } from "../../operations/dead-letters.ts";
import type { OperationClient, OperationRequest } from "../client/operation-client.ts";
import { parseDuration } from "../input/options.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";

export interface FilterFlags extends ServerFlag {
  readonly channel?: DeadLetterChannel;
  readonly code?: string[];
  /** Milliseconds. */
  readonly newerThan?: number;
  readonly olderThan?: number;
}

/** Adds the options that select the service and filter its dead letters. */
export const withFilter = (command: Command): Command =>
  command
    .option(...serverOption)
    .addOption(
      new Option("--channel <channel>", "what was rejected; default: announcements").choices(
        deadLetterChannels,
      ),
    )
    .addOption(new Option("--code <code...>", "only with one of these codes").choices(deadLetterCodes))
    .option(
      "--newer-than <duration>",
      "only records written within this time: 45s, 30m, 2h, 7d",
      parseDuration,
    )
    .option("--older-than <duration>", "only records older than this", parseDuration);

/** The query of the flags. */
export function toQuery({ channel, code, newerThan, olderThan }: FilterFlags) {
  const now = Date.now();
  const toTime = (agoMs: number | undefined): string | undefined =>
    agoMs === undefined ? undefined : new Date(Math.max(now - agoMs, 0)).toISOString();
  return { channel, code, from: toTime(newerThan), to: toTime(olderThan) };
}

const pageSize = 1_000;

/** Reads all pages, newest first. Throws UnavailableError at the end if the service has not read all yet. */
export async function* readPages(
  client: OperationClient,
  query: OperationRequest["query"],
): AsyncGenerator<DeadLetterList> {
  let after: string | undefined;
  do {
    const request = { query: { ...query, after, limit: pageSize } };
    const { json: page } = await client.call<DeadLetterList>(listDeadLetters, request);
    yield page;
    after = page.next ?? undefined;
    if (after === undefined && page.unlisted > 0)
      throw new UnavailableError(`about ${page.unlisted} more are still being read: try again later`);
  } while (after !== undefined);
}
