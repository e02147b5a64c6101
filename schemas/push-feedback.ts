import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string", format: "text", minLength: 1 } as const;

/** The value of a record of the push feedback topic: a push service reported a token as dead. */
export const pushFeedbackSchema = {
  $id: "push-feedback",
  type: "object",
  additionalProperties: false,
  required: ["platform", "token", "reason"],
  properties: {
    application: {
      ...text,
      type: ["string", "null"],
      description:
        "Name of the push application, as in `sys_push_application`. If missing, the token is deactivated in every application.",
    },
    platform: { ...text, description: "Name of the push platform, as in `sys_push_platform`." },
    token: { ...text, maxLength: 4096, description: "The device token, as it was registered." },
    reason: {
      ...text,
      description:
        "The push service's reason, such as `Unregistered` or `BadDeviceToken`; cut to 200 characters.",
    },
    reportedOn: {
      type: ["string", "null"],
      format: "date-time",
      description:
        "When the push service learned that the token is dead (RFC 3339), such as the timestamp of APNs' status 410. A token registered later stays active. Default: the record's timestamp.",
    },
  },
} as const;

export type PushFeedback = FromSchema<typeof pushFeedbackSchema>;
