import type { FromSchema } from "json-schema-to-ts";

import { minPasswordLength } from "./user.ts";

const port = { type: "integer", minimum: 0, maximum: 65535 } as const;
const name = { type: "string", minLength: 1 } as const;
/** Kafka's own rule for topic names. */
const kafkaTopic = {
  type: "string",
  pattern: "^[A-Za-z0-9._-]{1,249}$",
  expected: "a Kafka topic's name: letters, digits, dot, underscore and hyphen",
} as const;
/** Leaves room for the suffix `.dead-letter`. */
const kafkaTopicWithDeadLetters = { ...kafkaTopic, pattern: "^[A-Za-z0-9._-]{1,237}$" } as const;
const path = { type: "string", minLength: 1 } as const;
const names = { type: "array", items: { type: "string", minLength: 1 }, uniqueItems: true } as const;

/**
 * The settings, as environment variables. Integers, booleans and comma-separated lists are parsed before
 * validation; text that does not parse stays a string and fails validation.
 */
export const settingsSchema = {
  $id: "settings",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    HTTP_HOST: { ...name, default: "127.0.0.1", description: "Address that the HTTP server listens on." },
    HTTP_PORT: {
      ...port,
      default: 8080,
      description: "Port that the HTTP server listens on; 0 picks a free port.",
    },
    HTTP_TLS_CERT: { ...path, description: "PEM file with the HTTP server's certificate and chain." },
    HTTP_TLS_KEY: { ...path, description: "PEM file with the key of HTTP_TLS_CERT." },
    HTTP_TRUSTED_PROXIES: {
      type: "array",
      items: { type: "string", minLength: 1 },
      default: [],
      description: "Comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted.",
    },
    HTTP_PUBLIC_URL: {
      type: "string",
      pattern: "^https?://[^/?#@\\s]+/?$",
      expected: "a URL without a path, such as https://topicsync.example.org",
      description:
        "URL of the service as browsers see it, without a path. Required for signing in with OpenID, and (with https://) when a proxy terminates TLS.",
    },
    HTTP_MAX_CONNECTIONS: {
      type: "integer",
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: "Maximum number of open HTTP connections; further ones are closed at once.",
    },
    MANAGEMENT_PORT: {
      ...port,
      description:
        "Port for probes and metrics, which are then not served on HTTP_PORT; 0 picks a free port. Unset: they are.",
    },
    MANAGEMENT_HOST: {
      ...name,
      description: "Address that MANAGEMENT_PORT is served on. Unset: HTTP_HOST.",
    },
    MONGODB_URI: {
      type: "string",
      pattern: "^mongodb(\\+srv)?://[^/]+/[^/?]+(\\?.*)?$",
      expected: "a MongoDB URI with a database name, such as mongodb://127.0.0.1:27017/topicsync",
      description: "MongoDB connection string, including the database name. Unset: the embedded store.",
    },
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
      ...name,
      default: "topicsync",
      description: "Client id, as shown in the broker's logs and used for its quotas.",
    },
    KAFKA_TLS: { type: "boolean", default: false, description: "Connect to the brokers over TLS." },
    KAFKA_TLS_CA: { ...path, description: "PEM file with the certificate authorities to trust." },
    KAFKA_TLS_CERT: { ...path, description: "PEM file with the client certificate." },
    KAFKA_TLS_KEY: { ...path, description: "PEM file with the key of KAFKA_TLS_CERT." },
    KAFKA_TLS_KEY_PASSPHRASE: { ...name, description: "Passphrase of KAFKA_TLS_KEY, if it is encrypted." },
    KAFKA_SASL_MECHANISM: {
      enum: ["plain", "scram-sha-256", "scram-sha-512", "oauthbearer", "aws-msk-iam"],
      description: "SASL mechanism.",
    },
    KAFKA_SASL_USERNAME: { ...name, description: "User name for plain and scram." },
    KAFKA_SASL_PASSWORD: { ...name, description: "Password for plain and scram." },
    KAFKA_OAUTH_TOKEN_URL: {
      ...name,
      description: "For oauthbearer: URL of the provider's token endpoint, for client credentials.",
    },
    KAFKA_OAUTH_CLIENT_ID: { ...name, description: "Client id at KAFKA_OAUTH_TOKEN_URL." },
    KAFKA_OAUTH_CLIENT_SECRET: { ...name, description: "Client secret of KAFKA_OAUTH_CLIENT_ID." },
    KAFKA_OAUTH_SCOPE: { ...name, description: "Space-separated scopes to request. Unset: the provider's." },
    KAFKA_OAUTH_EXTENSIONS: {
      type: "array",
      items: {
        type: "string",
        pattern: "^[A-Za-z]+=[ -~]+$",
        expected: "name=value, the name of letters only, such as logicalCluster=lkc-1",
      },
      description: "Comma-separated name=value list of SASL extensions that are sent with the token.",
    },
    KAFKA_OAUTH_TOKEN_FILE: {
      ...path,
      description: "For oauthbearer: file with the token, instead of KAFKA_OAUTH_TOKEN_URL.",
    },
    AWS_REGION: { ...name, description: "Region of the cluster, for aws-msk-iam." },
    KAFKA_RACK: {
      ...name,
      description: "Rack or availability zone of this instance. Set: the nearest replica is read.",
    },
    KAFKA_GROUP_ID: { ...name, default: "topicsync", description: "Consumer group id." },
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
    KAFKA_EVENTS_GROUP_ID: {
      ...name,
      description: "Consumer group id of the router. Unset: KAFKA_GROUP_ID with the suffix .router.",
    },
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
        "Create missing Kafka topics that events are forwarded to. Otherwise their events become dead letters.",
    },
    KAFKA_EGRESS_PARTITIONS: {
      type: "integer",
      minimum: 1,
      maximum: 10_000,
      description:
        "Partitions of Kafka topics that KAFKA_EGRESS_CREATE creates. Unset: the broker's default.",
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
        "Topics that one event is forwarded to at most. An event of more topics becomes a dead letter.",
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
    BOOTSTRAP_USER: {
      type: "string",
      pattern: "^[^:]+$",
      expected: "a name without a colon (HTTP Basic separates user and password with it)",
      description: "User with every role, created at start if it does not exist.",
    },
    BOOTSTRAP_PASSWORD: {
      type: "string",
      minLength: minPasswordLength,
      description: "Password of BOOTSTRAP_USER when it is created.",
    },
    BOOTSTRAP_RESET: {
      type: "boolean",
      default: false,
      description:
        "At each start, enable BOOTSTRAP_USER and give it BOOTSTRAP_PASSWORD and every role again.",
    },
    OIDC_ISSUER: {
      ...name,
      description:
        "OpenID provider whose bearer tokens are accepted besides HTTP Basic: the `iss` of its tokens.",
    },
    OIDC_AUDIENCE: { ...name, description: "Audience that the tokens' `aud` must contain." },
    OIDC_ROLES_CLAIM: {
      ...name,
      default: "roles",
      description: "Claim with the user's roles, or a path to it.",
    },
    OIDC_ROLE_MAP: {
      ...path,
      description:
        "JSON file with the rights and roles for values of the roles claim, such as groups. Unset: only topicsync's own roles count.",
    },
    OIDC_USER_CLAIM: { ...name, default: "sub", description: "Claim with the user's name." },
    OIDC_TOKEN_TYPE: {
      ...name,
      description:
        "Media type that the header `typ` of bearer tokens must have: `at+jwt` accepts only access tokens as in RFC 9068. Unset: it is not checked.",
    },
    OIDC_CLIENT_ID: {
      ...name,
      description: "Client id of the console at the provider. Enables signing in with OpenID.",
    },
    OIDC_CLIENT_SECRET: { ...name, description: "Client secret of OIDC_CLIENT_ID. Unset: a public client." },
    OIDC_SCOPE: {
      type: "string",
      pattern: "^(\\S+ )*openid( \\S+)*$",
      expected: "space-separated scopes, including openid",
      default: "openid",
      description: "Space-separated scopes to request when a user signs in.",
    },
    PUSH_APPLICATIONS: {
      ...names,
      default: [],
      description: "Comma-separated push applications, created at start if missing.",
    },
    PUSH_PLATFORMS: {
      ...names,
      default: [],
      description: "Comma-separated push platforms, created at start if missing.",
    },
    PUSH_MAX_TOKENS_PER_USER: {
      type: "integer",
      minimum: 1,
      maximum: 100_000,
      description:
        "Active push tokens that a user can have for an application. A registration beyond them deactivates the token that was not seen for the longest time. Unset: any number.",
    },
    PUSH_TOKEN_MAX_UNSEEN_DAYS: {
      type: "integer",
      minimum: 1,
      maximum: 3_650,
      description:
        "Days after which a push token that was not registered again is deactivated, once a day. Unset: never.",
    },
    LOG_LEVEL: {
      enum: ["fatal", "error", "warn", "info", "debug", "trace", "silent"],
      default: "info",
      description: "Minimum level of log lines.",
    },
    AUDIT_LOG: {
      ...path,
      default: "stdout",
      description: "Where audit lines go: stdout, off, or the path of a file to append to.",
    },
    PICKER_LOAD: {
      enum: ["first-use", "start"],
      default: "first-use",
      description: "When the picker loads the topics: with the first event, or at start.",
    },
    EVENT_LEARNING: {
      enum: ["paths", "values", "off"],
      default: "paths",
      description:
        "What the router stores about the structure of events, from samples: their paths, also values of paths that have few, or nothing.",
    },
    HISTORY_RETENTION_DAYS: {
      type: "integer",
      minimum: 0,
      maximum: 36_500,
      default: 0,
      description: "Days after which replaced versions of topics are deleted. 0: never.",
    },
    TOPICSYNC_STACK: {
      enum: ["auto", "containers", "local", "none"],
      default: "auto",
      description:
        "How to run the embedded broker and store: in containers, as local processes, auto, or not at all (none).",
    },
    TOPICSYNC_DATA: {
      ...path,
      default: ".topicsync",
      description: "Data folder of the embedded broker and store.",
    },
    TOPICSYNC_KAFKA_IMAGE: {
      ...name,
      default: "apache/kafka:4.3.1",
      description: "Container image of the embedded broker.",
    },
    TOPICSYNC_MONGO_IMAGE: {
      ...name,
      default: "mongo:8.0",
      description: "Container image of the embedded store.",
    },
  },
  dependentRequired: {
    BOOTSTRAP_USER: ["BOOTSTRAP_PASSWORD"],
    BOOTSTRAP_PASSWORD: ["BOOTSTRAP_USER"],
    MANAGEMENT_HOST: ["MANAGEMENT_PORT"],
    HTTP_TLS_CERT: ["HTTP_TLS_KEY"],
    HTTP_TLS_KEY: ["HTTP_TLS_CERT"],
    OIDC_ISSUER: ["OIDC_AUDIENCE"],
    OIDC_AUDIENCE: ["OIDC_ISSUER"],
    OIDC_CLIENT_ID: ["OIDC_ISSUER", "HTTP_PUBLIC_URL"],
    OIDC_CLIENT_SECRET: ["OIDC_CLIENT_ID"],
    OIDC_TOKEN_TYPE: ["OIDC_ISSUER"],
    OIDC_ROLE_MAP: ["OIDC_ISSUER"],
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
  },
} as const;

export type SettingName = keyof (typeof settingsSchema)["properties"];
/** The parsed settings, with defaults. */
export type Settings = FromSchema<typeof settingsSchema>;

/** Secret settings, which may also be read from a file: `MONGODB_URI_FILE` holds the path. */
export const secretSettings = [
  "MONGODB_URI",
  "KAFKA_TLS_KEY_PASSPHRASE",
  "KAFKA_SASL_PASSWORD",
  "KAFKA_OAUTH_CLIENT_SECRET",
  "BOOTSTRAP_PASSWORD",
  "OIDC_CLIENT_SECRET",
] as const satisfies SettingName[];

export type SecretSettingName = (typeof secretSettings)[number];
