import type { ApplicationView, PlatformView } from "../../../../schemas/catalog.ts";

/** An application or a platform. Only platforms have a token rule. */
export type CatalogEntry = ApplicationView & Partial<Pick<PlatformView, "tokenRule">>;

export const catalogs = {
  applications: {
    path: "/api/topicsync/v1/applications",
    heading: "Applications",
    addLabel: "Add an application",
    description: "Apps that can register push tokens, under the names they send.",
    emptyHint: "tokens can be registered only for the applications listed here.",
  },
  platforms: {
    path: "/api/topicsync/v1/platforms",
    heading: "Platforms",
    addLabel: "Add a platform",
    description: "Platforms that apps run on. A token rule defines the format of a platform's tokens.",
    emptyHint: "tokens can be registered only for the platforms listed here.",
  },
} as const;

export type CatalogKind = keyof typeof catalogs;

/** Labels of the token rules; "" for none. */
export const tokenRuleLabels: Readonly<Record<string, string>> = {
  "": "any text",
  apns: "Apple (APNs)",
  fcm: "Firebase (FCM)",
  webpush: "Web push",
};
