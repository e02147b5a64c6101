import type { FromSchema } from "json-schema-to-ts";

const name = { type: "string", format: "text", minLength: 1 } as const;
const time = { type: "string", format: "date-time" } as const;

/** A push installation as it is listed, exported and imported: the whole record, in the API's names. */
export const installationViewSchema = {
  $id: "installation-view",
  type: "object",
  additionalProperties: false,
  required: ["application", "platform", "token", "user", "active", "createdOn", "updatedOn", "lastSeenOn"],
  properties: {
    id: { ...name, maxLength: 100, description: "The sys_id; an import without it gives a new one." },
    application: { ...name, description: "Name of the push application." },
    platform: { ...name, description: "Name of the push platform." },
    token: {
      ...name,
      maxLength: 4096,
      description: "The device token; in listings shortened unless asked for.",
    },
    user: { ...name, description: "Whose token it is." },
    active: { type: "boolean" },
    createdOn: time,
    updatedOn: time,
    lastSeenOn: { ...time, description: "When the token was registered last." },
    deactivatedOn: { ...time, description: "Since when it is inactive; absent of an active one." },
    deactivatedReason: { type: "string", format: "text", description: "Why it is inactive." },
    previousOwners: {
      type: "array",
      description: "Whose it was before, and until when, the latest last; absent when it was nobody's.",
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
