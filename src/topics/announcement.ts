import type { RejectionError } from "@topicsync/lib/errors";
import type { TopicDefinition } from "./topic.ts";

/** A decoded record of the announcements topic. */
export type Announcement =
  | { readonly kind: "define"; readonly offset: number; readonly definition: TopicDefinition }
  | { readonly kind: "retire"; readonly offset: number; readonly externalId: string }
  | { readonly kind: "unusable"; readonly offset: number; readonly rejection: RejectionError };
