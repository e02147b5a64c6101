import type { FromSchema } from "json-schema-to-ts";

import { query } from "./query.ts";
import { atom, count, list, named, nullableText, nullableTime, positive, text, time } from "./shapes.ts";

export const maxBackfillRate = 100_000;
export const defaultBackfillRate = 5_000;

const rate = atom({ type: "integer", minimum: 1, maximum: maxBackfillRate });

/** The body of `POST /api/topicsync/v1/topics/{externalId}/backfills`. */
export const newBackfillSchema = {
  ...named("new-backfill", {
    from: time("Forward the events from this time on, by their timestamps."),
    "to?": time("Forward the events before this time. By default all that the router has read."),
    "rate?": rate(`Read at most this many events per second; ${defaultBackfillRate} by default.`),
  }),
  examples: [{ from: "2026-11-27T00:00:00Z", to: "2026-11-28T00:00:00Z" }],
} as const;

export type NewBackfillBody = FromSchema<typeof newBackfillSchema>;

export const backfillStates = ["waiting", "running", "done", "cancelled", "failed"] as const;

/** A backfill. */
export const backfillSchema = named("backfill", {
  id: text("Copies have it in the header `topicsync.backfill`."),
  externalId: text("The external id of the topic."),
  namespace: text("The namespace of the topic."),
  version: positive("The version of the topic whose filters are used."),
  egressTopic: text("The Kafka topic of the copies."),
  state: {
    enum: backfillStates,
    description: "`waiting`: it begins once all instances know the version of the topic, and one is free.",
  },
  reason: nullableText("Why it failed."),
  from: time(),
  to: nullableTime("Null: all that the router had read when it began."),
  rate: rate("The maximum number of events that are read per second."),
  offsets: count("The number of offsets in the range; 0 while it is waiting."),
  done: count("How many of them are done."),
  copies: count("Copies that were sent. A kill can make it too low by one batch."),
  requestedBy: text("The user."),
  requestedOn: time(),
  endedOn: nullableTime(),
});

export type BackfillView = FromSchema<typeof backfillSchema>;

/** The query of `GET /api/topicsync/v1/backfills`. */
export const backfillQuerySchema = query("backfill-query", {
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    expected: "a whole number from 1 to 100",
    default: 100,
    description: "How many, 1 to 100.",
  },
});

export type BackfillQuery = FromSchema<typeof backfillQuerySchema>;

/** The response of `GET /api/topicsync/v1/backfills`. */
export const backfillListSchema = named("backfill-list", {
  backfills: list(backfillSchema, "The latest first. They are deleted 30 days after their end."),
});

export type BackfillList = FromSchema<typeof backfillListSchema>;
