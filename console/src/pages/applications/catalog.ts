import type { ApplicationView, PlatformView } from "../../../../schemas/catalog.ts";

/** An application, or a platform with its rule. */
export type NamedView = ApplicationView & Partial<Pick<PlatformView, "tokenRule">>;

/** What push tokens can be registered for: two kinds of names, of which only platforms have a rule. */
export const kinds = {
  applications: {
    path: "/api/topicsync/v1/applications",
    heading: "Applications",
    one: "application",
    about: "The apps that register push tokens, each by the name that it sends.",
  },
  platforms: {
    path: "/api/topicsync/v1/platforms",
    heading: "Platforms",
    one: "platform",
    about: "What the apps run on. A token rule says what a platform's tokens look like.",
  },
} as const;

export type Kind = keyof typeof kinds;

/** The token rules in words; "" for none. */
export const ruleTexts: Readonly<Record<string, string>> = {
  "": "any text",
  apns: "Apple (APNs)",
  fcm: "Firebase (FCM)",
  webpush: "Web push",
};
