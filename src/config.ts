import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { parseEnv } from "node:util";

import ipaddr from "ipaddr.js";

import { secretSettings, settingsSchema, type SettingName, type Settings } from "../schemas/settings.ts";
import { ConfigurationError, getErrorMessage } from "./lib/errors.ts";
import { readTlsPair, type TlsFiles, type TlsPair } from "./lib/tls.ts";
import { requireTrusted } from "./lib/trusted-path.ts";
import { isTrustworthy, type OidcConfig, type SignInConfig } from "./users/openid.ts";
import { createValidator } from "./lib/validation.ts";

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
  /** Maximum size of a decompressed batch. */
  readonly maxBatchBytes: number;
  /** PEM texts; undefined for a plain connection. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  readonly sasl:
    { readonly mechanism: SaslMechanism; readonly username: string; readonly password: string } | undefined;
}

/** A consumed Kafka topic with its dead-letter topic and consumer group. */
export interface ConsumerChannel {
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly groupId: string;
}

/** Where the router reads events, and where it forwards them to. */
export interface RouterConfig extends ConsumerChannel {
  /** Larger events are rejected. */
  readonly maxEventBytes: number;
  /** The name of the Kafka topic for a topic's events, with placeholders; see src/routing/egress.ts. */
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

type SaslMechanism = NonNullable<Settings["KAFKA_SASL_MECHANISM"]>;

export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  /** The origin as browsers see it. */
  readonly publicUrl: string | undefined;
  /** Addresses and CIDR ranges. */
  readonly trustedProxies: readonly string[];
  /** Undefined for plain HTTP. The files are read again on reload. */
  readonly tls: (TlsPair & { readonly files: TlsFiles }) | undefined;
}

export interface BootstrapConfig {
  readonly user: string;
  readonly password: string;
  /** Whether an existing user is enabled and gets this password and every role at each start. */
  readonly reset: boolean;
}

export interface Config {
  readonly http: HttpConfig;
  /** Includes the database name; undefined for the embedded store. */
  readonly mongodbUri: string | undefined;
  readonly kafka: KafkaConfig;
  readonly bootstrap: BootstrapConfig | undefined;
  /** Undefined: HTTP Basic only. */
  readonly oidc: OidcConfig | undefined;
  /** Undefined: the console accepts passwords only. */
  readonly signIn: SignInConfig | undefined;
  readonly push: { readonly applications: readonly string[]; readonly platforms: readonly string[] };
  readonly pickerLoad: Settings["PICKER_LOAD"];
  readonly logLevel: Settings["LOG_LEVEL"];
  /** `stdout`, `off`, or a file's path. */
  readonly auditLog: string;
  readonly stack: StackConfig;
}

export interface StackConfig {
  readonly choice: "auto" | "containers" | "local";
  readonly dataFolder: string;
  readonly kafkaImage: string;
  readonly mongoImage: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const settingNames = Object.keys(settingsSchema.properties) as SettingName[];

/**
 * Adds the variables of a `.env` file, if there is one; those of `environment` take precedence. Throws a ConfigurationError if
 * it cannot be read, or if another user may have written it.
 */
export function readEnvironment(environment: Environment, file = ".env"): Environment {
  requireTrusted(file);
  try {
    return { ...parseEnv(readFileSync(file, "utf8")), ...environment };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return environment;
    throw new ConfigurationError(`${file} cannot be read: ${getErrorMessage(error)}`);
  }
}

/**
 * Parses and validates the settings. An empty variable counts as unset. Throws a ConfigurationError that lists every fault
 * with the name of its variable.
 */
export function readConfig(environment: Environment): Config {
  const faults: string[] = [];
  const raw = parseSettings(environment, faults);
  const checked = createCheck(raw)(raw);
  if (!checked.ok)
    faults.push(...checked.faults.map(({ path, message }) => `${getSettingName(path)} ${message}`));
  const config = checked.ok ? toConfig(checked.value, faults) : undefined;
  if (config === undefined || faults.length > 0) {
    throw new ConfigurationError(
      ["The settings are invalid:", ...faults.map((fault) => `  ${fault}`)].join("\n"),
    );
  }
  return config;
}

/** Creates a validator of these settings. Compiling the rules of all others would take a tenth of a short command's time. */
function createCheck(raw: Readonly<Record<string, unknown>>) {
  const properties = settingNames.map((name) => {
    const schema = settingsSchema.properties[name];
    const unset = "default" in schema ? { default: schema.default } : true;
    return [name, name in raw ? schema : unset] as const;
  });
  // Under one $id, only one schema can be compiled.
  const schema = { ...settingsSchema, $id: undefined, properties: Object.fromEntries(properties) };
  return createValidator<Settings>(schema, { defaults: true });
}

/** Parses the variables as far as possible; the schema rejects what stays text. */
function parseSettings(environment: Environment, faults: string[]): Record<string, unknown> {
  const raw: Record<string, unknown> = {};
  for (const name of settingNames) {
    const text = environment[name];
    if (text !== undefined && text !== "") raw[name] = parseValue(name, text);
  }
  for (const name of secretSettings) {
    const file = environment[`${name}_FILE`];
    if (file === undefined || file === "") continue;
    if (raw[name] !== undefined) faults.push(`${name} and ${name}_FILE are both set; set one of them`);
    const secret = readText(`${name}_FILE`, file, faults)?.replace(/\r?\n$/, "");
    if (secret !== undefined) raw[name] = secret;
  }
  return raw;
}

function parseValue(name: SettingName, text: string): unknown {
  const schema = settingsSchema.properties[name];
  const type = "type" in schema ? schema.type : undefined;
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  if (type === "array") {
    const items = text.split(",").map((item) => item.trim());
    return items.filter((item) => item !== "");
  }
  return text;
}

function toConfig(settings: Settings, faults: string[]): Config {
  const kafka: KafkaConfig = Object.freeze({
    brokers: settings.KAFKA_BROKERS,
    clientId: settings.KAFKA_CLIENT_ID,
    groupId: settings.KAFKA_GROUP_ID,
    announcementsTopic: settings.KAFKA_ANNOUNCEMENTS_TOPIC,
    deadLetterTopic: settings.KAFKA_DEAD_LETTER_TOPIC,
    pushFeedback: toPushFeedback(settings),
    router: toRouter(settings),
    maxBatchBytes: settings.KAFKA_MAX_BATCH_BYTES,
    tls: readKafkaTls(settings, faults),
    sasl: toSasl(settings),
  });
  faults.push(...findTopicFaults(kafka));
  const provider = toOidc(settings, faults);
  const { BOOTSTRAP_USER: user, BOOTSTRAP_PASSWORD: password, BOOTSTRAP_RESET: reset } = settings;
  return Object.freeze({
    http: toHttp(settings, faults),
    mongodbUri: settings.MONGODB_URI,
    kafka,
    bootstrap:
      user !== undefined && password !== undefined ? Object.freeze({ user, password, reset }) : undefined,
    oidc: provider,
    signIn: provider && toSignIn(settings, provider, faults),
    push: Object.freeze({
      applications: settings.PUSH_APPLICATIONS,
      platforms: settings.PUSH_PLATFORMS,
    }),
    pickerLoad: settings.PICKER_LOAD,
    logLevel: settings.LOG_LEVEL,
    auditLog: settings.AUDIT_LOG,
    stack: Object.freeze({
      choice: settings.TOPICSYNC_STACK,
      dataFolder: settings.TOPICSYNC_DATA,
      kafkaImage: settings.TOPICSYNC_KAFKA_IMAGE,
      mongoImage: settings.TOPICSYNC_MONGO_IMAGE,
    }),
  });
}

/** Has its own group: otherwise a member could be assigned partitions of a topic that it does not read. */
function toPushFeedback({
  KAFKA_PUSH_FEEDBACK_TOPIC: topic,
  KAFKA_GROUP_ID: group,
}: Settings): ConsumerChannel | undefined {
  if (topic === undefined) return undefined;
  return Object.freeze({
    topic,
    deadLetterTopic: `${topic}.dead-letter`,
    groupId: `${group}.push-feedback`,
  });
}

function toRouter(settings: Settings): RouterConfig | undefined {
  const topic = settings.KAFKA_EVENTS_TOPIC;
  if (topic === undefined) return undefined;
  const newEgress = Object.freeze({
    partitions: settings.KAFKA_EGRESS_PARTITIONS,
    replication: settings.KAFKA_EGRESS_REPLICATION,
  });
  return Object.freeze({
    topic,
    deadLetterTopic: settings.KAFKA_EVENTS_DEAD_LETTER_TOPIC ?? `${topic}.dead-letter`,
    groupId: settings.KAFKA_EVENTS_GROUP_ID ?? `${settings.KAFKA_GROUP_ID}.router`,
    maxEventBytes: settings.KAFKA_MAX_EVENT_BYTES,
    egressTopic: settings.KAFKA_EGRESS_TOPIC,
    newEgress,
    createEgress: settings.KAFKA_EGRESS_CREATE ? newEgress : undefined,
    maxCreatedEgress: settings.KAFKA_EGRESS_MAX_CREATED,
    maxCopies: settings.KAFKA_MAX_COPIES,
    unmatchedTopic: settings.KAFKA_UNMATCHED_TOPIC,
  });
}

/** The service would read its own records, or two consumers would share a group, if two of these names were the same. */
function findTopicFaults({
  announcementsTopic,
  deadLetterTopic,
  groupId,
  pushFeedback,
  router,
}: KafkaConfig): string[] {
  if (announcementsTopic === deadLetterTopic) {
    return [
      "KAFKA_DEAD_LETTER_TOPIC must differ from KAFKA_ANNOUNCEMENTS_TOPIC: dead letters would be consumed again",
    ];
  }
  const isReserved = /^(?:__[^{]*|\.{1,2})$/.test(router?.egressTopic ?? "");
  const unusable = [router?.egressTopic, router?.deadLetterTopic, router?.unmatchedTopic].filter(
    (name) => name !== undefined && name in Object.prototype,
  );
  return [
    ...(isReserved
      ? [`KAFKA_EGRESS_TOPIC must not be . or .., nor begin with __: Kafka reserves these names`]
      : []),
    ...unusable.map((name) => `the router cannot write to a Kafka topic named "${name ?? ""}"`),
    ...findRepeated([
      ["KAFKA_ANNOUNCEMENTS_TOPIC", announcementsTopic],
      ["KAFKA_DEAD_LETTER_TOPIC", deadLetterTopic],
      ["KAFKA_PUSH_FEEDBACK_TOPIC", pushFeedback?.topic],
      ["KAFKA_PUSH_FEEDBACK_TOPIC with the suffix .dead-letter", pushFeedback?.deadLetterTopic],
      ["KAFKA_EVENTS_TOPIC", router?.topic],
      ["KAFKA_EVENTS_DEAD_LETTER_TOPIC", router?.deadLetterTopic],
      ["KAFKA_UNMATCHED_TOPIC", router?.unmatchedTopic],
      ["KAFKA_EGRESS_TOPIC", router?.egressTopic],
    ]),
    ...findRepeated([
      ["KAFKA_GROUP_ID", groupId],
      ["KAFKA_GROUP_ID with the suffix .push-feedback", pushFeedback?.groupId],
      ["KAFKA_EVENTS_GROUP_ID", router?.groupId],
    ]),
  ];
}

/** A fault for each value that equals an earlier one. */
function findRepeated(named: readonly (readonly [name: string, value: string | undefined])[]): string[] {
  const faults: string[] = [];
  const names = new Map<string, string>();
  for (const [name, value] of named) {
    if (value === undefined) continue;
    const other = names.get(value);
    if (other === undefined) names.set(value, name);
    else faults.push(`${name} must differ from ${other}`);
  }
  return faults;
}

function toHttp(settings: Settings, faults: string[]): HttpConfig {
  for (const proxy of settings.HTTP_TRUSTED_PROXIES) {
    if (!isAddressRange(proxy))
      faults.push(`HTTP_TRUSTED_PROXIES: "${proxy}" is neither an address nor a CIDR range`);
  }
  return Object.freeze({
    host: settings.HTTP_HOST,
    port: settings.HTTP_PORT,
    maxConnections: settings.HTTP_MAX_CONNECTIONS,
    publicUrl: toPublicUrl(settings, faults),
    trustedProxies: settings.HTTP_TRUSTED_PROXIES,
    tls: readHttpTls(settings, faults),
  });
}

function toPublicUrl({ HTTP_PUBLIC_URL: text }: Settings, faults: string[]): string | undefined {
  if (text === undefined) return undefined;
  if (URL.canParse(text)) return new URL(text).origin;
  faults.push("HTTP_PUBLIC_URL must be a URL without a path, such as https://topicsync.example.org");
  return undefined;
}

/** Accepts an IP address or a CIDR range, except a prefix of 0, which would trust every caller. */
const isAddressRange = (text: string): boolean =>
  text.includes("/") ? ipaddr.isValidCIDR(text) && !/\/0+$/.test(text) : isIP(text) !== 0;

function readHttpTls(settings: Settings, faults: string[]): HttpConfig["tls"] {
  const { HTTP_TLS_CERT: cert, HTTP_TLS_KEY: key } = settings;
  if (cert === undefined || key === undefined) return undefined;
  const files = { cert, key };
  const pair = readTlsPair(files);
  if ("cert" in pair) return { ...pair, files };
  faults.push(...pair.faults);
  return undefined;
}

function toOidc(settings: Settings, faults: string[]): OidcConfig | undefined {
  const { OIDC_ISSUER: issuer, OIDC_AUDIENCE: audience } = settings;
  if (issuer === undefined || audience === undefined) return undefined;
  if (!isTrustworthy(issuer)) {
    faults.push("OIDC_ISSUER must be an https:// URL (http:// only on this machine)");
  }
  return Object.freeze({
    issuer,
    audience,
    rolesClaim: settings.OIDC_ROLES_CLAIM,
    userClaim: settings.OIDC_USER_CLAIM,
    tokenType: settings.OIDC_TOKEN_TYPE,
  });
}

function toSignIn(settings: Settings, provider: OidcConfig, faults: string[]): SignInConfig | undefined {
  const { OIDC_CLIENT_ID: clientId, HTTP_PUBLIC_URL: publicUrl } = settings;
  if (clientId === undefined || publicUrl === undefined) return undefined;
  if (!isTrustworthy(publicUrl)) {
    faults.push("HTTP_PUBLIC_URL must be an https:// URL (http:// only on this machine)");
    return undefined;
  }
  return Object.freeze({
    ...provider,
    clientId,
    clientSecret: settings.OIDC_CLIENT_SECRET,
    scope: settings.OIDC_SCOPE,
    publicUrl: new URL(publicUrl).origin,
  });
}

function readKafkaTls(settings: Settings, faults: string[]): KafkaConfig["tls"] {
  const files = { ca: "KAFKA_TLS_CA", cert: "KAFKA_TLS_CERT", key: "KAFKA_TLS_KEY" } as const;
  const given = Object.entries(files).filter(([, name]) => settings[name] !== undefined);
  if (!settings.KAFKA_TLS) {
    faults.push(...given.map(([, name]) => `${name} is set, but KAFKA_TLS is not "true"`));
    return undefined;
  }
  return Object.fromEntries(
    given.map(([key, name]) => [key, readText(name, settings[name] ?? "", faults) ?? ""]),
  );
}

function toSasl(settings: Settings): KafkaConfig["sasl"] {
  const {
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: username,
    KAFKA_SASL_PASSWORD: password,
  } = settings;
  if (mechanism === undefined || username === undefined || password === undefined) return undefined;
  return { mechanism, username, password };
}

function readText(name: string, file: string, faults: string[]): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    faults.push(`${name}: ${getErrorMessage(error)}`);
    return undefined;
  }
}

const getSettingName = (path: string): string => path.split("/").slice(1, 2).join("") || "The environment";
