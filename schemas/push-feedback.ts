import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string", format: "text", minLength: 1 } as const;

/** The value of a record of the push feedback topic: a push service said that a token is dead. */
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
        "Name of the push application, as in `sys_push_application`. Without it the token is dead in every application: a push service knows applications by names of its own.",
    },
    platform: { ...text, description: "Name of the push platform, as in `sys_push_platform`." },
    token: { ...text, maxLength: 4096, description: "The device token, as it was registered." },
    reason: {
      ...text,
      description:
        "Why it is dead, in the push service's own word, such as `Unregistered` or `BadDeviceToken`; 200 characters are kept.",
    },
    reportedOn: {
      type: ["string", "null"],
      format: "date-time",
      description:
        "Since when the token is known to be dead (RFC 3339), such as the timestamp of APNs' status 410: a token that was registered again afterwards stays active. Without it, the record's timestamp.",
    },
  },
} as const;

export type PushFeedback = FromSchema<typeof pushFeedbackSchema>;
