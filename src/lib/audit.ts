import { hash } from "node:crypto";

/** Something that somebody changed. */
export type AuditEvent =
  | {
      readonly action:
        "topic.created" | "topic.changed" | "topic.retired" | "topic.disabled" | "topic.enabled";
      readonly externalId: string;
      /** The sys_id. */
      readonly id: string;
    }
  | {
      readonly action: "user.added" | "user.changed";
      readonly user: string;
      readonly roles: readonly string[];
    }
  | {
      readonly action:
        "user.disabled" | "user.enabled" | "user.password-changed" | "session.began" | "session.ended";
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
      /** The digest of the token that it takes the place of. */
      readonly replacesDigest?: string;
      readonly reason?: string;
    }
  | {
      readonly action: "installations.removed";
      readonly application: string;
      readonly platform: string;
      readonly of: "caller" | "everybody";
    }
  | { readonly action: "installations.swept" | "installations.imported"; readonly count: number }
  | {
      readonly action: "dead-letters.replayed";
      /** The Kafka topic that they were sent to. */
      readonly topic: string;
      readonly count: number;
      /** The ids, or the first of many. */
      readonly ids: readonly string[];
    };

/** Who did it, by which way, and from where. */
export interface Origin {
  readonly via: "http" | "cli" | "channel" | "settings";
  /** A user's name; the operating system's user for a command. */
  readonly by: string;
  /** A network address, a host's name for a command, `topic-partition-offset` for an announcement. */
  readonly from: string;
  readonly requestId?: string;
}

/** The record of who changed what. */
export interface Audit {
  /** Whether anything is recorded at all. */
  readonly on: boolean;
  /** Records a change that is stored. Never throws, waits for nothing. */
  record(event: AuditEvent, origin: Origin): void;
}

/**
 * Stands for a token where it must not be seen: the first 16 hexadecimal digits of its SHA-256, so that whoever knows a
 * token finds it: `printf %s TOKEN | sha256sum | cut -c1-16`.
 */
export const tokenDigest = (token: string): string => hash("sha256", token, "hex").slice(0, 16);
