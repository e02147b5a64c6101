import { atom } from "./shapes.ts";

const name = atom({ type: "string", minLength: 1 });
const path = name;
/** Kafka's own rule for topic names. */
const kafkaTopic = {
  type: "string",
  pattern: "^[A-Za-z0-9._-]{1,249}$",
  expected: "a Kafka topic's name: letters, digits, dot, underscore and hyphen",
} as const;
/** Leaves room for the suffix `.dead-letter`. */
const kafkaTopicWithDeadLetters = { ...kafkaTopic, pattern: "^[A-Za-z0-9._-]{1,237}$" } as const;

/** The settings of the connection to Kafka, and of the Kafka topics. */
export const kafkaSettings = {
  KAFKA_BROKERS: {
    type: "array",
    minItems: 1,
    items: {
      type: "string",
      pattern: "^(?:[^\\s:\\[\\]]+|\\[[0-9A-Fa-f:.]+(?:%[^\\s\\]]+)?\\]):[0-9]{1,5}$",
      expected: "host:port, with brackets around an IPv6 address, such as [::1]:9092",
    },
    description: "Comma-separated host:port list of Kafka brokers. Unset: the embedded broker.",
  },
  KAFKA_CLIENT_ID: {
    ...name(),
    default: "topicsync",
    description: "Client id, as shown in the broker's logs and used for its quotas.",
  },
  KAFKA_TLS: { type: "boolean", default: false, description: "Connect to the brokers over TLS." },
  KAFKA_TLS_CA: path("PEM file with the certificate authorities to trust."),
  KAFKA_TLS_CERT: path("PEM file with the client certificate."),
  KAFKA_TLS_KEY: path("PEM file with the key of KAFKA_TLS_CERT."),
  KAFKA_TLS_KEY_PASSPHRASE: name("Passphrase of KAFKA_TLS_KEY, if it is encrypted."),
  KAFKA_SASL_MECHANISM: {
    enum: ["plain", "scram-sha-256", "scram-sha-512", "oauthbearer", "aws-msk-iam"],
    description: "SASL mechanism.",
  },
  KAFKA_SASL_USERNAME: name("User name for plain and scram."),
  KAFKA_SASL_PASSWORD: name("Password for plain and scram."),
  KAFKA_OAUTH_TOKEN_URL: name(
    "For oauthbearer: URL of the provider's token endpoint, for client credentials.",
  ),
  KAFKA_OAUTH_CLIENT_ID: name("Client id at KAFKA_OAUTH_TOKEN_URL."),
  KAFKA_OAUTH_CLIENT_SECRET: name("Client secret of KAFKA_OAUTH_CLIENT_ID."),
  KAFKA_OAUTH_SCOPE: name("Space-separated scopes to request. Unset: the provider's."),
  KAFKA_OAUTH_EXTENSIONS: {
    type: "array",
    items: {
      type: "string",
      pattern: "^[A-Za-z]+=[ -~]+$",
      expected: "name=value, the name of letters only, such as logicalCluster=lkc-1",
    },
    description: "Comma-separated name=value list of SASL extensions that are sent with the token.",
  },
  KAFKA_OAUTH_TOKEN_FILE: path("For oauthbearer: file with the token, instead of KAFKA_OAUTH_TOKEN_URL."),
  AWS_REGION: name("Region of the cluster, for aws-msk-iam."),
  KAFKA_RACK: name("Rack or availability zone of this instance. Set: the nearest replica is read."),
  KAFKA_GROUP_ID: { ...name(), default: "topicsync", description: "Consumer group id." },
  KAFKA_ANNOUNCEMENTS_TOPIC: {
    ...kafkaTopic,
    default: "topicsync.announcements",
    description: "Kafka topic to read announcements (topic definitions) from.",
  },
  KAFKA_DEAD_LETTER_TOPIC: {
    ...kafkaTopic,
    default: "topicsync.announcements.dead-letter",
    description: "Kafka topic to send rejected announcements to.",
  },
  KAFKA_PUSH_FEEDBACK_TOPIC: {
    ...kafkaTopicWithDeadLetters,
    description:
      "Kafka topic to read push services' reports of dead tokens from. Unset: none are read. Rejected reports go to the topic with the suffix .dead-letter.",
  },
  KAFKA_EVENTS_TOPIC: {
    ...kafkaTopicWithDeadLetters,
    description: "Kafka topic to read events from, which are forwarded to their topics. Unset: none are.",
  },
  KAFKA_EVENTS_GROUP_ID: name(
    "Consumer group id of the router. Unset: KAFKA_GROUP_ID with the suffix .router.",
  ),
  KAFKA_EVENTS_DEAD_LETTER_TOPIC: {
    ...kafkaTopic,
    description:
      "Kafka topic to send events to that cannot be forwarded. Unset: KAFKA_EVENTS_TOPIC with the suffix .dead-letter.",
  },
  KAFKA_MAX_EVENT_BYTES: {
    type: "integer",
    minimum: 1024,
    maximum: 64 * 1024 * 1024,
    default: 1024 * 1024,
    description: "Maximum size of an event, in bytes. A larger one is rejected without being read.",
  },
  KAFKA_EGRESS_TOPIC: {
    type: "string",
    pattern: "^[A-Za-z0-9._-](?:[A-Za-z0-9._-]|\\{externalId\\}|\\{namespace\\})*$",
    expected:
      "a Kafka topic's name, which may contain {externalId} and {namespace} after its first character",
    default: "topicsync.egress",
    description:
      "Kafka topic to forward the events of a topic to. `{externalId}` and `{namespace}` are replaced by those of the topic; without them, one Kafka topic takes all events. Begins with a character of its own, so that nobody can forward events to any Kafka topic by choosing an external id.",
  },
  KAFKA_EGRESS_CREATE: {
    type: "boolean",
    default: false,
    description:
      "Create missing Kafka topics that events are forwarded to. Otherwise their events become dead letters. A KAFKA_EGRESS_TOPIC without placeholders is created at the start in any case.",
  },
  KAFKA_EGRESS_PARTITIONS: {
    type: "integer",
    minimum: 1,
    maximum: 10_000,
    description: "Partitions of Kafka topics that KAFKA_EGRESS_CREATE creates. Unset: the broker's default.",
  },
  KAFKA_EGRESS_REPLICATION: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    description: "Replicas of Kafka topics that KAFKA_EGRESS_CREATE creates. Unset: the broker's default.",
  },
  KAFKA_EGRESS_MAX_CREATED: {
    type: "integer",
    minimum: 0,
    maximum: 1_000_000,
    default: 1_000,
    description:
      "Kafka topics that KAFKA_EGRESS_CREATE creates at most until the process ends. Events for further ones become dead letters.",
  },
  KAFKA_MAX_COPIES: {
    type: "integer",
    minimum: 1,
    maximum: 100_000,
    default: 10_000,
    description:
      "Topics that one event is forwarded to at most. Of an event of more topics, those beyond the share of their namespace are left out and named in a dead letter.",
  },
  KAFKA_UNMATCHED_TOPIC: {
    ...kafkaTopic,
    description: "Kafka topic to forward events to that no topic wants. Unset: they are only counted.",
  },
  KAFKA_MAX_BATCH_BYTES: {
    type: "integer",
    minimum: 8 * 1024 * 1024,
    maximum: 1024 * 1024 * 1024,
    default: 64 * 1024 * 1024,
    description:
      "Maximum size of a decompressed record batch, in bytes, plus 256 bytes per record and 128 per header. A larger batch is rejected unread, as one dead letter.",
  },
} as const;

/** What each of them requires. */
export const kafkaDependencies = {
  KAFKA_EVENTS_GROUP_ID: ["KAFKA_EVENTS_TOPIC"],
  KAFKA_EVENTS_DEAD_LETTER_TOPIC: ["KAFKA_EVENTS_TOPIC"],
  KAFKA_UNMATCHED_TOPIC: ["KAFKA_EVENTS_TOPIC"],
  KAFKA_TLS_CERT: ["KAFKA_TLS_KEY"],
  KAFKA_TLS_KEY: ["KAFKA_TLS_CERT"],
  KAFKA_TLS_KEY_PASSPHRASE: ["KAFKA_TLS_KEY"],
  KAFKA_SASL_USERNAME: ["KAFKA_SASL_MECHANISM"],
  KAFKA_SASL_PASSWORD: ["KAFKA_SASL_MECHANISM"],
  KAFKA_OAUTH_TOKEN_URL: ["KAFKA_SASL_MECHANISM", "KAFKA_OAUTH_CLIENT_ID", "KAFKA_OAUTH_CLIENT_SECRET"],
  KAFKA_OAUTH_CLIENT_ID: ["KAFKA_OAUTH_TOKEN_URL"],
  KAFKA_OAUTH_CLIENT_SECRET: ["KAFKA_OAUTH_TOKEN_URL"],
  KAFKA_OAUTH_SCOPE: ["KAFKA_OAUTH_TOKEN_URL"],
  KAFKA_OAUTH_EXTENSIONS: ["KAFKA_SASL_MECHANISM"],
  KAFKA_OAUTH_TOKEN_FILE: ["KAFKA_SASL_MECHANISM"],
} as const;
