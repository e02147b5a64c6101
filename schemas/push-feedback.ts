import type { FromSchema } from "json-schema-to-ts";

import { limited, named, nonEmpty, nullable, nullableTime } from "./shapes.ts";

/** The value of a record of the push feedback topic: a push service reported a token as dead. */
export const pushFeedbackSchema = named("push-feedback", {
  "application?": nullable(
    nonEmpty(
      "Name of the push application, as in `sys_push_application`. If missing, the token is deactivated in every application.",
    ),
  ),
  platform: nonEmpty("Name of the push platform, as in `sys_push_platform`."),
  token: limited(4096, "The device token, as it was registered."),
  reason: nonEmpty(
    "The push service's reason, such as `Unregistered` or `BadDeviceToken`; cut to 200 characters.",
  ),
  "reportedOn?": nullableTime(
    "When the push service learned that the token is dead (RFC 3339), such as the timestamp of APNs' status 410. A token registered later stays active. Default: the record's timestamp.",
  ),
});

export type PushFeedback = FromSchema<typeof pushFeedbackSchema>;
