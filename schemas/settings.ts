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
/** Leaves room for the name of the dead-letter topic beside it. */
const kafkaTopicWithLetters = { ...kafkaTopic, pattern: "^[A-Za-z0-9._-]{1,237}$" } as const;
const path = { type: "string", minLength: 1 } as const;
const names = { type: "array", items: { type: "string", minLength: 1 }, uniqueItems: true } as const;

/**
 * The settings, as environment variables. Integers, booleans and comma lists are read from their text before they are
 * checked here; a text that is none stays a string and is reported as such.
 */
export const settingsSchema = {
  $id: "settings",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    HTTP_HOST: { ...name, default: "127.0.0.1", description: "Address the HTTP facade listens on." },
    HTTP_PORT: {
      ...port,
      default: 8080,
      description: "Port the HTTP facade listens on; 0 takes a free one.",
    },
    HTTP_TLS_CERT: { ...path, description: "File with the facade's certificate and its chain (PEM)." },
    HTTP_TLS_KEY: { ...path, description: "File with the certificate's key (PEM)." },
    HTTP_TRUSTED_PROXIES: {
      type: "array",
      items: { type: "string", minLength: 1 },
      default: [],
      description:
        "Addresses or CIDR ranges of the proxies whose X-Forwarded-For is believed, separated by commas.",
    },
    HTTP_PUBLIC_URL: {
      type: "string",
      pattern: "^https?://[^/?#@\\s]+/?$",
      expected: "a URL without a path, such as https://topicsync.example.org",
      description:
        "Where browsers find the facade, without a path. Needed for signing in with OpenID, and with https:// wherever a proxy ends TLS.",
    },
    HTTP_MAX_CONNECTIONS: {
      type: "integer",
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: "Connections that the HTTP facade holds at most; more are closed at once.",
    },
    MONGODB_URI: {
      type: "string",
      pattern: "^mongodb(\\+srv)?://[^/]+/[^/?]+(\\?.*)?$",
      expected: "a MongoDB URI with a database's name, such as mongodb://127.0.0.1:27017/topicsync",
      description: "MongoDB connection string with the database's name. Unset: the embedded store.",
    },
    KAFKA_BROKERS: {
      type: "array",
      minItems: 1,
      items: { type: "string", pattern: "^[^\\s:]+:[0-9]{1,5}$", expected: "host:port" },
      description: "host:port of one or more brokers, separated by commas. Unset: the embedded broker.",
    },
    KAFKA_CLIENT_ID: {
      ...name,
      default: "topicsync",
      description: "Name of this client in the broker's logs and quotas.",
    },
    KAFKA_TLS: { type: "boolean", default: false, description: "Connect to the brokers over TLS." },
    KAFKA_TLS_CA: { ...path, description: "File with the certificate authorities to trust (PEM)." },
    KAFKA_TLS_CERT: { ...path, description: "File with the client certificate (PEM)." },
    KAFKA_TLS_KEY: { ...path, description: "File with the client certificate's key (PEM)." },
    KAFKA_SASL_MECHANISM: {
      enum: ["plain", "scram-sha-256", "scram-sha-512"],
      description: "SASL mechanism.",
    },
    KAFKA_SASL_USERNAME: { ...name, description: "SASL user." },
    KAFKA_SASL_PASSWORD: { ...name, description: "SASL password." },
    KAFKA_GROUP_ID: { ...name, default: "topicsync", description: "Consumer group." },
    KAFKA_ANNOUNCEMENTS_TOPIC: {
      ...kafkaTopic,
      default: "topicsync.announcements",
      description: "Kafka topic that carries the topic definitions.",
    },
    KAFKA_DEAD_LETTER_TOPIC: {
      ...kafkaTopic,
      default: "topicsync.announcements.dead-letter",
      description: "Kafka topic that receives refused announcements.",
    },
    KAFKA_PUSH_FEEDBACK_TOPIC: {
      ...kafkaTopicWithLetters,
      description:
        "Kafka topic on which push services' reports of dead tokens come. Unset: none are read. What is refused goes to the topic of this name with .dead-letter behind it.",
    },
    KAFKA_MAX_BATCH_BYTES: {
      type: "integer",
      minimum: 8 * 1024 * 1024,
      maximum: 1024 * 1024 * 1024,
      default: 64 * 1024 * 1024,
      description:
        "The most that one batch of records may have when it is decompressed, counting 256 bytes for each record besides. A larger one is refused unread, as one dead letter.",
    },
    BOOTSTRAP_USER: {
      type: "string",
      pattern: "^[^:]+$",
      expected: "a name without a colon (HTTP Basic separates user and password by it)",
      description: "User that exists at start with every role.",
    },
    BOOTSTRAP_PASSWORD: {
      type: "string",
      minLength: minPasswordLength,
      description: "Password of BOOTSTRAP_USER.",
    },
    OIDC_ISSUER: {
      ...name,
      description:
        "OpenID provider whose bearer tokens are taken besides HTTP Basic, as in its tokens' `iss`.",
    },
    OIDC_AUDIENCE: { ...name, description: "What the tokens' `aud` must name." },
    OIDC_ROLES_CLAIM: { ...name, default: "roles", description: "Claim with the roles, or the path to it." },
    OIDC_USER_CLAIM: { ...name, default: "sub", description: "Claim with the user's name." },
    OIDC_CLIENT_ID: {
      ...name,
      description: "The console as the provider knows it: with it people can sign in there with OpenID.",
    },
    OIDC_CLIENT_SECRET: { ...name, description: "Secret of OIDC_CLIENT_ID. Unset: a public client." },
    OIDC_SCOPE: {
      type: "string",
      pattern: "^(\\S+ )*openid( \\S+)*$",
      expected: "scopes with spaces between, openid among them",
      default: "openid",
      description: "What the provider is asked for when somebody signs in.",
    },
    PUSH_APPLICATIONS: { ...names, default: [], description: "Push applications that exist at start." },
    PUSH_PLATFORMS: { ...names, default: [], description: "Push platforms that exist at start." },
    LOG_LEVEL: {
      enum: ["fatal", "error", "warn", "info", "debug", "trace", "silent"],
      default: "info",
      description: "How much is logged.",
    },
    AUDIT_LOG: {
      ...path,
      default: "stdout",
      description: "Where the audit goes: stdout, off, or a file that is appended to.",
    },
    PICKER_LOAD: {
      enum: ["first-use", "start"],
      default: "first-use",
      description: "When the topics are loaded for picking.",
    },
    TOPICSYNC_STACK: {
      enum: ["auto", "containers", "local"],
      default: "auto",
      description: "How the embedded broker and store are run.",
    },
    TOPICSYNC_DATA: {
      ...path,
      default: ".topicsync",
      description: "Folder of the embedded broker's and store's data.",
    },
    TOPICSYNC_KAFKA_IMAGE: {
      ...name,
      default: "apache/kafka:4.3.1",
      description: "Image of the embedded broker.",
    },
    TOPICSYNC_MONGO_IMAGE: { ...name, default: "mongo:8.0", description: "Image of the embedded store." },
  },
  dependentRequired: {
    BOOTSTRAP_USER: ["BOOTSTRAP_PASSWORD"],
    BOOTSTRAP_PASSWORD: ["BOOTSTRAP_USER"],
    HTTP_TLS_CERT: ["HTTP_TLS_KEY"],
    HTTP_TLS_KEY: ["HTTP_TLS_CERT"],
    OIDC_ISSUER: ["OIDC_AUDIENCE"],
    OIDC_AUDIENCE: ["OIDC_ISSUER"],
    OIDC_CLIENT_ID: ["OIDC_ISSUER", "HTTP_PUBLIC_URL"],
    OIDC_CLIENT_SECRET: ["OIDC_CLIENT_ID"],
    KAFKA_TLS_CERT: ["KAFKA_TLS_KEY"],
    KAFKA_TLS_KEY: ["KAFKA_TLS_CERT"],
    KAFKA_SASL_MECHANISM: ["KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD"],
    KAFKA_SASL_USERNAME: ["KAFKA_SASL_MECHANISM"],
    KAFKA_SASL_PASSWORD: ["KAFKA_SASL_MECHANISM"],
  },
} as const;

export type SettingName = keyof (typeof settingsSchema)["properties"];
/** The settings, read into their types, with their defaults. */
export type Settings = FromSchema<typeof settingsSchema>;

/** Settings that may come from a file, whose path is in the variable of the same name with `_FILE` behind it. */
export const secretSettings = [
  "MONGODB_URI",
  "KAFKA_SASL_PASSWORD",
  "BOOTSTRAP_PASSWORD",
  "OIDC_CLIENT_SECRET",
] as const satisfies SettingName[];
