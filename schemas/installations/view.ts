import type { FromSchema } from "json-schema-to-ts";

import { attributes } from "./attributes.ts";
import { flag, input, limited, named, nonEmpty, objects, time } from "../shapes.ts";

/** A push installation as listed, exported and imported. */
export const installationViewSchema = named("installation-view", {
  "id?": limited(100, "The sys_id. An import without an id creates a new one."),
  application: nonEmpty("Name of the push application."),
  platform: nonEmpty("Name of the push platform."),
  token: limited(4096, "The device token; lists shorten it by default."),
  user: nonEmpty("The owner of the token."),
  active: flag(),
  createdOn: time(),
  updatedOn: time(),
  lastSeenOn: time("Time of the last registration."),
  "deactivatedOn?": time("Time of the deactivation; absent while active."),
  "deactivatedReason?": input("Reason for the deactivation."),
  "previousOwners?": objects(
    "Previous owners, oldest first, each with the time the token moved on; absent when there are none.",
    { user: nonEmpty(), until: time() },
  ),
  "attributes?": attributes("What the app said about its device; absent when it said nothing."),
});

export type InstallationView = FromSchema<typeof installationViewSchema>;
