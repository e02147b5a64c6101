import type { FromSchema } from "json-schema-to-ts";

const name = { type: "string", format: "text", minLength: 1 } as const;
const time = { type: "string", format: "date-time" } as const;

/** A push installation as listed, exported and imported. */
export const installationViewSchema = {
  $id: "installation-view",
  type: "object",
  additionalProperties: false,
  required: ["application", "platform", "token", "user", "active", "createdOn", "updatedOn", "lastSeenOn"],
  properties: {
    id: { ...name, maxLength: 100, description: "The sys_id. An import without an id creates a new one." },
    application: { ...name, description: "Name of the push application." },
    platform: { ...name, description: "Name of the push platform." },
    token: {
      ...name,
      maxLength: 4096,
      description: "The device token; lists shorten it by default.",
    },
    user: { ...name, description: "The owner of the token." },
    active: { type: "boolean" },
    createdOn: time,
    updatedOn: time,
    lastSeenOn: { ...time, description: "Time of the last registration." },
    deactivatedOn: { ...time, description: "Time of the deactivation; absent while active." },
    deactivatedReason: { type: "string", format: "text", description: "Reason for the deactivation." },
    previousOwners: {
      type: "array",
      description:
        "Previous owners, oldest first, each with the time the token moved on; absent when there are none.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["user", "until"],
        properties: { user: name, until: time },
      },
    },
  },
} as const;

export type InstallationView = FromSchema<typeof installationViewSchema>;
