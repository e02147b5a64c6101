import type { FromSchema } from "json-schema-to-ts";

import { attributes, givenAttributes } from "./attributes.ts";
import { limited, named, nonEmpty, nullable, nullableText, objects, text, time } from "../shapes.ts";

/** The body of `POST /api/topicsync/v1/installations/look-up`. */
export const lookUpSchema = {
  ...named("installation-look-up", {
    users: {
      type: "array",
      minItems: 1,
      maxItems: 1_000,
      items: { ...nonEmpty(), maxLength: 256 },
      description: "Whose tokens are wanted.",
    },
    application: nonEmpty("Name of the push application."),
    "platform?": nullable(nonEmpty("Name of the push platform. Default: all platforms.")),
    "attributes?": givenAttributes("Only tokens of devices with all of these attributes."),
    "after?": nullable(limited(1_000, "Cursor: the `next` of the previous page of the same look-up.")),
  }),
  examples: [{ users: ["ann", "bob"], application: "Field Service", platform: "ios" }],
} as const;

export type LookUpBody = FromSchema<typeof lookUpSchema>;

/** The response body. */
export const lookedUpSchema = named("installations-looked-up", {
  installations: objects("Active tokens, sorted by user: at most 1,000. Users without one do not occur.", {
    id: text("The sys_id, for deactivations."),
    user: nonEmpty(),
    platform: nonEmpty(),
    token: nonEmpty("Anyone who has it can send to the device."),
    lastSeenOn: time("Time of the last registration."),
    "attributes?": attributes("What the app said about its device; absent when it said nothing."),
  }),
  next: nullableText("Cursor of the next page; null on the last page."),
});

export type LookedUp = FromSchema<typeof lookedUpSchema>;
