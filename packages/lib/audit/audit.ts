import { hash } from "node:crypto";

/** A change of stored data, a look at secrets, or a refusal. */
export type AuditEvent =
  | RefusalEvent
  | {
      readonly action:
        | "topic.created"
        | "topic.changed"
        | "topic.described"
        | "topic.retired"
        | "topic.disabled"
        | "topic.enabled";
      readonly externalId: string;
      /** The sys_id; empty for details without a topic. */
      readonly id: string;
      /** Whether it was changed although it belongs to a set. */
      readonly forced?: true;
    }
  | {
      readonly action: "user.added" | "user.changed";
      readonly user: string;
      readonly roles: readonly string[];
    }
  | {
      readonly action:
        | "user.disabled"
        | "user.enabled"
        | "user.password-changed"
        | "session.began"
        | "session.ended"
        | "sessions.ended";
      readonly user: string;
    }
  | {
      readonly action: "application.added" | "application.disabled" | "application.enabled";
      readonly application: string;
    }
  | {
      readonly action: "platform.added" | "platform.changed" | "platform.disabled" | "platform.enabled";
      readonly platform: string;
      readonly tokenRule?: string | null;
    }
  | {
      readonly action: "installation.registered" | "installation.deactivated";
      readonly application: string;
      readonly platform: string;
      /** See `tokenDigest`. */
      readonly tokenDigest: string;
      /** The digest of the replaced token. */
      readonly replacesDigest?: string;
      readonly reason?: string;
    }
  | {
      readonly action: "installations.removed";
      readonly application: string;
      readonly platform: string;
      readonly of: "caller" | "everybody";
      /** The digest of the token, if it was only one. */
      readonly tokenDigest?: string;
    }
  | {
      /** More tokens than the limit. */
      readonly action: "installations.limited";
      readonly application: string;
      readonly user: string;
      readonly count: number;
    }
  | {
      readonly action: "installations.looked-up";
      readonly application: string;
      readonly platform: string | null;
      /** How many users were asked for, and how many tokens were returned. */
      readonly users: number;
      readonly count: number;
    }
  | {
      readonly action: "installations.swept" | "installations.imported" | "installations.read-tokens";
      readonly count: number;
    }
  | {
      readonly action: "dead-letters.replayed";
      /** The Kafka topic they were sent to. */
      readonly topic: string;
      readonly count: number;
      /** After an outage: how many more may have been sent. */
      readonly unconfirmed?: number;
      /** Whether also what was replayed before, or superseded, was sent. */
      readonly again?: boolean;
      readonly force?: boolean;
      /** The ids, or the first of many. */
      readonly ids: readonly string[];
    }
  | {
      readonly action: "egress-topics.created";
      /** The names of Kafka topics. */
      readonly topics: readonly string[];
    }
  | { readonly action: "dead-letters.read"; readonly id: string }
  | {
      /** Values of events were shown. */
      readonly action: "events.read";
      /** The external ids of the topics whose changes were previewed, or the first of many. */
      readonly topics: readonly string[];
    }
  | {
      readonly action: "position.set";
      readonly group: string;
      /** The Kafka topic. */
      readonly topic: string;
      readonly partition: number;
      /** The offsets. */
      readonly from: number | null;
      readonly to: number;
    }
  | {
      readonly action: "key.created" | "key.deleted";
      /** Its name. */
      readonly key: string;
      readonly id: string;
      readonly roles: readonly string[];
    };

/** Something that a caller was not allowed to do. */
export type RefusalEvent =
  | {
      readonly action: "login.failed";
      /** As the caller named it; cut if it is long. */
      readonly user: string;
      /** What was presented: a password, key or token, or a sign-in with OpenID. */
      readonly credentials: string;
      readonly count: number;
    }
  | {
      readonly action: "request.refused";
      /** The id of the operation. */
      readonly operation: string;
      readonly reason: string;
      readonly count: number;
    };

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
