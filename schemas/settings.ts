import type { FromSchema } from "json-schema-to-ts";

import { kafkaDependencies, kafkaSettings } from "./kafka-settings.ts";
import { atom } from "./shapes.ts";
import { minPasswordLength } from "./user.ts";

const port = atom({ type: "integer", minimum: 0, maximum: 65535 });
const name = atom({ type: "string", minLength: 1 });
const path = name;
const names = { type: "array", items: name(), uniqueItems: true } as const;

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
    HTTP_HOST: { ...name(), default: "127.0.0.1", description: "Address that the HTTP server listens on." },
    HTTP_PORT: {
      ...port(),
      default: 8080,
      description: "Port that the HTTP server listens on; 0 picks a free port.",
    },
    HTTP_TLS_CERT: path("PEM file with the HTTP server's certificate and chain."),
    HTTP_TLS_KEY: path("PEM file with the key of HTTP_TLS_CERT."),
    HTTP_TRUSTED_PROXIES: {
      type: "array",
      items: name(),
      default: [],
      description: "Comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted.",
    },
    HTTP_PUBLIC_URL: {
      type: "string",
      // No segment begins with a dot: `..` would leave the path.
      pattern: "^https?://[^/?#@\\s\\\\]+(?:/[\\w~-][\\w.~-]*)*/?$",
      expected:
        "a URL such as https://topicsync.example.org or https://example.org/topicsync, without user, query and fragment; its path consists of letters, digits and ._~-",
      description:
        "URL of the service as browsers see it. It may have a path. Required for signing in with OpenID, and (with https://) when a proxy terminates TLS.",
    },
    HTTP_ALLOWED_ORIGINS: {
      type: "array",
      items: {
        type: "string",
        pattern: "^(?:null|file://|[a-z][a-z0-9+.-]*://[^/?#@\\s,*]+)$",
        expected: "null, or an origin without a path, such as capacitor://localhost",
      },
      default: [],
      description:
        "Comma-separated origins of web pages and hybrid apps that may call the push operations: https://app.example.org, capacitor://localhost, null.",
    },
    HTTP_MAX_CONNECTIONS: {
      type: "integer",
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: "Maximum number of open HTTP connections; further ones are closed at once.",
    },
    MANAGEMENT_PORT: port(
      "Port for probes and metrics, which are then not served on HTTP_PORT; 0 picks a free port. Unset: they are.",
    ),
    MANAGEMENT_HOST: name("Address that MANAGEMENT_PORT is served on. Unset: HTTP_HOST."),
    MONGODB_URI: {
      type: "string",
      pattern: "^mongodb(\\+srv)?://[^/\\s]+/[^/?\\s]+(\\?\\S*)?$",
      expected: "a MongoDB URI with a database name, such as mongodb://127.0.0.1:27017/topicsync",
      description: "MongoDB connection string, including the database name. Unset: the embedded store.",
    },
    ...kafkaSettings,
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
    KEYS_MAX_DAYS: {
      type: "integer",
      minimum: 1,
      maximum: 3_650,
      default: 365,
      description: "Days after its creation when an API key ends at the latest, existing ones included.",
    },
    OIDC_ISSUER: name(
      "OpenID provider whose bearer tokens are accepted besides HTTP Basic: the `iss` of its tokens.",
    ),
    OIDC_AUDIENCE: name("Audience that the tokens' `aud` must contain."),
    OIDC_ROLES_CLAIM: {
      ...name(),
      default: "roles",
      description: "Claim with the user's roles, or a path to it.",
    },
    OIDC_ROLE_MAP: path(
      "JSON file with the rights and roles for values of the roles claim, such as groups. Unset: only topicsync's own roles count.",
    ),
    OIDC_USER_CLAIM: { ...name(), default: "sub", description: "Claim with the user's name." },
    OIDC_TOKEN_TYPE: name(
      "Media type that the header `typ` of bearer tokens must have: `at+jwt` accepts only access tokens as in RFC 9068. Unset: it is not checked.",
    ),
    OIDC_CLIENT_ID: name("Client id of the console at the provider. Enables signing in with OpenID."),
    OIDC_CLIENT_SECRET: name("Client secret of OIDC_CLIENT_ID. Unset: a public client."),
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
    PUSH_DELETE_INACTIVE_DAYS: {
      type: "integer",
      minimum: 1,
      maximum: 3_650,
      description:
        "Days after its deactivation after which a push token is deleted, once a day. Unset: inactive tokens are kept for ever.",
    },
    LOG_LEVEL: {
      enum: ["fatal", "error", "warn", "info", "debug", "trace", "silent"],
      default: "info",
      description: "Minimum level of log lines.",
    },
    AUDIT_LOG: {
      ...path(),
      default: "stdout",
      description: "Where audit lines go: stdout, off, or the path of a file to append to.",
    },
    PICKER_LOAD: {
      enum: ["first-use", "start"],
      default: "first-use",
      description: "When the picker loads the topics: with the first event, or at start.",
    },
    HISTORY_RETENTION_DAYS: {
      type: "integer",
      minimum: 0,
      maximum: 36_500,
      default: 0,
      description:
        "Days after which replaced versions of topics, and retirements of topics that are active again, are deleted. 0: never.",
    },
    TOPICSYNC_STACK: {
      enum: ["auto", "containers", "local", "none"],
      default: "auto",
      description:
        "How to run the embedded broker and store: in containers, as local processes, auto, or not at all (none).",
    },
    TOPICSYNC_DATA: {
      ...path(),
      default: ".topicsync",
      description: "Data folder of the embedded broker and store.",
    },
    TOPICSYNC_KAFKA_IMAGE: {
      ...name(),
      default: "apache/kafka:4.3.1",
      description: "Container image of the embedded broker.",
    },
    TOPICSYNC_MONGO_IMAGE: {
      ...name(),
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
    ...kafkaDependencies,
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
