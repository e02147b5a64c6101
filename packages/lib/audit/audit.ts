import { hash } from "node:crypto";

/** An event whose details say what it was about. */
type EventOf<Action extends string, Details> = Readonly<{ action: Action } & Details>;

/** A change of stored data, a look at secrets, or a refusal. */
export type AuditEvent =
  | RefusalEvent
  | EventOf<
      | "topic.created"
      | "topic.changed"
      | "topic.described"
      | "topic.retired"
      | "topic.disabled"
      | "topic.enabled",
      {
        externalId: string;
        /** The sys_id; empty for details without a topic. */
        id: string;
        /** Whether it was changed although it belongs to a set. */
        forced?: true;
      }
    >
  | EventOf<"user.added" | "user.changed", { user: string; roles: readonly string[] }>
  | EventOf<
      | "user.disabled"
      | "user.enabled"
      | "user.password-changed"
      | "session.began"
      | "session.ended"
      | "sessions.ended",
      { user: string }
    >
  /** Without the name: `nameDigest` is keyed. With the names of the API keys that were revoked. */
  | EventOf<
      "user.erased",
      { nameDigest: string; pseudonym: string; keys: readonly string[]; complete: boolean }
    >
  | EventOf<"application.added" | "application.disabled" | "application.enabled", { application: string }>
  | EventOf<
      "platform.added" | "platform.changed" | "platform.disabled" | "platform.enabled",
      { platform: string; tokenRule?: string | null }
    >
  | EventOf<
      "installation.registered" | "installation.deactivated",
      {
        application: string;
        platform: string;
        /** See `tokenDigest`. */
        tokenDigest: string;
        /** The digest of the replaced token. */
        replacesDigest?: string;
        reason?: string;
      }
    >
  | EventOf<
      "installations.removed",
      {
        application: string;
        platform: string;
        of: "caller" | "everybody";
        /** The digest of the token, if it was only one. */
        tokenDigest?: string;
      }
    >
  /** More tokens than the limit. */
  | EventOf<"installations.limited", { application: string; user: string; count: number }>
  /** How many users were asked for, and how many tokens were returned. */
  | EventOf<
      "installations.looked-up",
      { application: string; platform: string | null; users: number; count: number }
    >
  | EventOf<
      | "installations.swept"
      | "installations.deleted"
      | "installations.imported"
      | "installations.read-tokens",
      { count: number }
    >
  | EventOf<
      "dead-letters.replayed",
      {
        /** The Kafka topic they were sent to. */
        topic: string;
        count: number;
        /** After an outage: how many more may have been sent. */
        unconfirmed?: number;
        /** Whether also what was replayed before, or superseded, was sent. */
        again?: boolean;
        force?: boolean;
        /** The ids, or the first of many. */
        ids: readonly string[];
      }
    >
  /** The names of Kafka topics. */
  | EventOf<"egress-topics.created", { topics: readonly string[] }>
  | EventOf<"dead-letters.read", { id: string }>
  /** Values of events were shown, in a preview of changes of these topics, or the first of many. */
  | EventOf<"events.read", { topics: readonly string[] }>
  /** Events were listed: how many. */
  | EventOf<"events.listed", { count: number }>
  | EventOf<"events.shown", { id: string }>
  /** The ids, or the first of many. */
  | EventOf<"events.sent", { count: number; ids: readonly string[]; sample?: boolean }>
  | EventOf<"backfill.requested" | "backfill.cancelled", { externalId: string; id: string }>
  /** The offset of a Kafka topic's partition. */
  | EventOf<
      "position.set",
      { group: string; topic: string; partition: number; from: number | null; to: number }
    >
  /** With the name of the key. */
  | EventOf<"key.created" | "key.deleted", { key: string; id: string; roles: readonly string[] }>;

/** Something that a caller was not allowed to do. */
export type RefusalEvent =
  | EventOf<
      "login.failed",
      {
        /** As the caller named it; cut if it is long. */
        user: string;
        /** What was presented: a password, key or token, or a sign-in with OpenID. */
        credentials: string;
        count: number;
      }
    >
  /** With the id of the operation. */
  | EventOf<"request.refused", { operation: string; reason: string; count: number }>;

/** Who made a change, how, and from where. */
export interface Origin {
  readonly via: "http" | "cli" | "channel" | "settings";
  /** The user's name; for a command, the operating system's user. */
  readonly by: string;
  /** The network address; for a command, the host name; for an announcement, `topic-partition-offset`. */
  readonly from: string;
  readonly requestId?: string;
}

/** An entry of the audit log. */
export interface AuditEntry {
  readonly event: AuditEvent;
  readonly origin: Origin;
}

/** The record of who changed what. Never throws or blocks. */
export interface Audit {
  /** False when the audit log is off. */
  readonly on: boolean;
  record(event: AuditEvent, origin: Origin): void;
  /** Records many at once, which is cheaper than one after another. */
  recordAll(entries: readonly AuditEntry[]): void;
}

/**
 * Identifies a token without revealing it: the first 16 hexadecimal digits of its SHA-256, as in
 * `printf %s TOKEN | sha256sum | cut -c1-16`.
 */
export const tokenDigest = (token: string): string => hash("sha256", token, "hex").slice(0, 16);
