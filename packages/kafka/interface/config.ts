import type { Secret } from "@topicsync/lib/secret";
import type { ClientTls, ClientTlsFiles } from "@topicsync/lib/tls";

export interface KafkaConfig {
  /** As host:port; undefined for the embedded broker. */
  readonly brokers: readonly string[] | undefined;
  readonly clientId: string;
  readonly groupId: string;
  readonly announcementsTopic: string;
  readonly deadLetterTopic: string;
  /** Undefined: push feedback is not consumed. */
  readonly pushFeedback: ConsumerChannel | undefined;
  /** Undefined: no events are forwarded. */
  readonly router: RouterConfig | undefined;
  /** Larger events are rejected. */
  readonly maxEventBytes: number;
  /** Maximum size of a decompressed batch. */
  readonly maxBatchBytes: number;
  /** Undefined for a plain connection. */
  readonly tls: KafkaTlsConfig | undefined;
  readonly sasl: KafkaSaslConfig | undefined;
  /** Where this instance is, to read from the nearest replica; undefined: from the leader. */
  readonly rack: string | undefined;
}

/** A consumed Kafka topic with its dead-letter topic and consumer group. */
export interface ConsumerChannel {
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly groupId: string;
}

/** Where the router reads events, and where it forwards them to. */
export interface RouterConfig extends ConsumerChannel {
  /** The name of the Kafka topic for a topic's events, with placeholders; see egress-naming.ts. */
  readonly egressTopic: string;
  /** What Kafka topics are created with that events are forwarded to. */
  readonly newEgress: NewEgress;
  /** Undefined: the router does not create missing ones. */
  readonly createEgress: NewEgress | undefined;
  /** How many one process creates at most. */
  readonly maxCreatedEgress: number;
  /** An event of more topics is a dead letter. */
  readonly maxCopies: number;
  /** Undefined: events that no topic wants are only counted. */
  readonly unmatchedTopic: string | undefined;
}

/** Undefined members stand for the broker's defaults. */
export interface NewEgress {
  readonly partitions: number | undefined;
  readonly replication: number | undefined;
}

export interface KafkaTlsConfig {
  readonly files: ClientTlsFiles;
  readonly passphrase: Secret | undefined;
  /** What the files contained at the start. */
  readonly content: ClientTls;
}

export type KafkaSaslConfig =
  | {
      readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
      readonly username: string;
      readonly password: Secret;
    }
  | {
      readonly mechanism: "oauthbearer";
      readonly source: ClientCredentials | { readonly tokenFile: Secret };
      readonly extensions: Readonly<Record<string, string>>;
    }
  | { readonly mechanism: "aws-msk-iam"; readonly region: string };

/** How tokens are requested (RFC 6749, section 4.4). */
export interface ClientCredentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly scope: string | undefined;
}

/** The signer of tokens for MSK, an optional package. */
export const mskSigner = "aws-msk-iam-sasl-signer-js";
