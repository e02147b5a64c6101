/**
 * kafkajs 2.2.4 takes headers as an object, which cannot say in which order they are, and has no word for a
 * header without a value. It passes on what it is given, so that lists go through it.
 */

import type { IHeaders } from "kafkajs";

import type { RecordHeaders } from "../interface/records.ts";

/** Only this program gives kafkajs lists, each of them of headers. */
const isHeaderList = (headers: unknown): headers is RecordHeaders => Array.isArray(headers);

/** Passes headers through a message of kafkajs. */
export const toIHeaders = (headers: RecordHeaders): IHeaders => headers as unknown as IHeaders;

/** The headers of a message of kafkajs: those of `toIHeaders`, or of another program. */
export const toHeaderList = (headers: IHeaders = {}): RecordHeaders =>
  isHeaderList(headers)
    ? headers
    : Object.entries(headers).flatMap(([name, given]) =>
        (Array.isArray(given) ? given : [given ?? null]).map((value) => [name, value] as const),
      );
