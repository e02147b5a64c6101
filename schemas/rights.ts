import type { FromSchema } from "json-schema-to-ts";

import { atom, input } from "./shapes.ts";

export const roles = {
  /** Creates topics (specification, section 5) and manages them. */
  eventManagement: "svc_api_notif_mgmt.event_mgmt_integration",
  /** Deactivates push tokens of all users. */
  pushAdmin: "push_admin",
  /** Manages users, push applications and push platforms. */
  admin: "topicsync_admin",
} as const;

/** What callers may be allowed to do, and what of it. */
export const rights = [
  "topics.read",
  "topics.write",
  "events.read",
  "events.send",
  "dead-letters.read",
  "dead-letters.read-content",
  "dead-letters.replay",
  "installations.read-tokens",
  "installations.write-all",
  "status.read",
  "admin",
] as const;

export type Right = (typeof rights)[number];

/**
 * Topics, the events that they match, and dead letters of announcements have a namespace; rights to other
 * things cannot be limited.
 */
export const limitableRights = [
  "topics.read",
  "topics.write",
  "events.read",
  "dead-letters.read",
  "dead-letters.read-content",
  "dead-letters.replay",
] as const satisfies Right[];

type Role = (typeof roles)[keyof typeof roles];

/** The rights of each role. */
export const rightsOfRole: Readonly<Record<Role, readonly Right[]>> = {
  [roles.eventManagement]: [...limitableRights.filter((right) => right !== "events.read"), "status.read"],
  [roles.pushAdmin]: ["installations.read-tokens", "installations.write-all", "status.read"],
  [roles.admin]: ["admin", "events.read", "events.send", "status.read"],
};

const escape = (text: string): string => text.replaceAll(".", "\\.");
const anyOf = (texts: readonly string[]): string => texts.map(escape).join("|");

/**
 * A role, a right, or a right with an `@` and a namespace: `topics.read@assurance`. `.*` at its end stands
 * for the namespace itself and those below it, separated by dots; nothing for topics without a namespace.
 */
const grantPattern = `^(?:${anyOf([...Object.values(roles), ...rights])}|(?:${anyOf(limitableRights)})@(?:[^*]{0,1000}|[^*]{1,1000}\\.\\*))$`;

/** What `isGrant` accepts, in words. */
export const grantRule = `a right (${rights.join(", ")}) or a role (${Object.values(roles).join(", ")}); rights to topics, events.read and those to dead letters may be limited to a namespace (topics.read@assurance) or to it and those below it (topics.read@assurance.*)`;

const grant = { ...input(), pattern: grantPattern, expected: grantRule } as const;

/** The rights and roles of a user or key. */
export const grants = atom({ type: "array", items: grant, maxItems: 100 });

/** The file of `OIDC_ROLE_MAP`: rights and roles for values of the roles claim. */
export const roleMapSchema = {
  $id: "role-map",
  type: "object",
  required: [],
  additionalProperties: grants(),
} as const;

export type RoleMap = FromSchema<typeof roleMapSchema>;

const grantExpression = new RegExp(grantPattern, "u");

/** Whether a text is a right, limited or not, or a role. */
export const isGrant = (text: string): boolean => grantExpression.test(text);
