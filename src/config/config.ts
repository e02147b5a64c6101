import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { parseEnv } from "node:util";

import ipaddr from "ipaddr.js";

import { ConfigurationError, getErrorMessage } from "@topicsync/lib/errors";
import { parseStrictJson } from "@topicsync/lib/json";
import { readTlsPair, type TlsFiles, type TlsPair } from "@topicsync/lib/tls";
import { requireTrusted } from "@topicsync/lib/trusted-path";
import { isTrustworthy } from "@topicsync/lib/trustworthy-url";
import { createValidator } from "@topicsync/lib/validation";
import { roleMapSchema, type RoleMap } from "../../schemas/rights.ts";
import { settingsSchema, type SettingName, type Settings } from "../../schemas/settings.ts";
import { readNamedFile, toKafkaConfig } from "./kafka-config.ts";
import { findSecretFiles, toSecret, type SecretFiles } from "./kafka-security.ts";
import { describeSettingFault, findMisspelledSettings } from "./setting-faults.ts";

export type Config = ReturnType<typeof toConfig>;

/** Where probes and metrics are served. */
export type ManagementConfig = NonNullable<Config["management"]>;

/** Which bearer tokens are accepted, and how users are read from them. */
export type OidcConfig = NonNullable<ReturnType<typeof toOidc>>;

/** How people sign in on the console through the provider. */
export type SignInConfig = NonNullable<ReturnType<typeof toSignIn>>;

export type Environment = Readonly<Record<string, string | undefined>>;

const settingNames = Object.keys(settingsSchema.properties) as SettingName[];

/**
 * Adds the variables of a `.env` file, if there is one; those of `environment` take precedence. Throws a
 * ConfigurationError if it cannot be read, or if another user may have written it.
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
 * Parses and validates the settings. An empty variable counts as unset. Throws a ConfigurationError that
 * lists every fault with the name of its variable.
 */
export function readConfig(environment: Environment): Config {
  const faults = findMisspelledSettings(environment);
  const raw = parseSettings(environment, faults);
  const checked = createCheck(raw)(raw);
  if (!checked.ok) faults.push(...checked.faults.map((fault) => describeSettingFault(fault, raw)));
  const config = checked.ok ? toConfig(checked.value, findSecretFiles(environment), faults) : undefined;
  if (config === undefined || faults.length > 0) {
    throw new ConfigurationError(
      ["The settings are invalid:", ...faults.map((fault) => `  ${fault}`)].join("\n"),
    );
  }
  return config;
}

/**
 * Creates a validator of these settings. Compiling the rules of all others would take a tenth of a short
 * command's time.
 */
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
  for (const [name, file] of Object.entries(findSecretFiles(environment))) {
    if (raw[name] !== undefined) faults.push(`${name} and ${name}_FILE are both set; set one of them`);
    const secret = readNamedFile(`${name}_FILE`, file, faults)?.replace(/\r?\n$/, "");
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

function toConfig(settings: Settings, files: SecretFiles, faults: string[]) {
  const kafka = toKafkaConfig(settings, files, faults);
  const provider = toOidc(settings, faults);
  const { BOOTSTRAP_USER: user, BOOTSTRAP_PASSWORD: password, BOOTSTRAP_RESET: reset } = settings;
  return Object.freeze({
    http: toHttp(settings, faults),
    /** Undefined: together with the API. */
    management: toManagement(settings, faults),
    /** Includes the database name; undefined for the embedded store. */
    mongodbUri: settings.MONGODB_URI,
    /** The file that it was read from, which is read again when it changes. */
    mongodbUriFile: files.MONGODB_URI,
    kafka,
    bootstrap:
      user !== undefined && password !== undefined ? Object.freeze({ user, password, reset }) : undefined,
    /** The longest life of an API key. */
    maxKeyDays: settings.KEYS_MAX_DAYS,
    /** Undefined: HTTP Basic only. */
    oidc: provider,
    /** Undefined: the console accepts passwords only. */
    signIn: provider && toSignIn(settings, provider, { files, faults }),
    push: Object.freeze({
      applications: settings.PUSH_APPLICATIONS,
      platforms: settings.PUSH_PLATFORMS,
      /** Active tokens of a user for an application. Undefined: any number. */
      maxTokensPerUser: settings.PUSH_MAX_TOKENS_PER_USER,
      /** Tokens that were not registered for so long are deactivated. Undefined: none are. */
      maxUnseenDays: settings.PUSH_TOKEN_MAX_UNSEEN_DAYS,
      /** Tokens are deleted so long after their deactivation. Undefined: never. */
      deleteInactiveDays: settings.PUSH_DELETE_INACTIVE_DAYS,
    }),
    pickerLoad: settings.PICKER_LOAD,
    /** Days for which replaced versions of topics are kept; undefined: for ever. */
    historyRetentionDays: settings.HISTORY_RETENTION_DAYS || undefined,
    logLevel: settings.LOG_LEVEL,
    /** `stdout`, `off`, or a file's path. */
    auditLog: settings.AUDIT_LOG,
    stack: Object.freeze({
      choice: settings.TOPICSYNC_STACK,
      dataFolder: settings.TOPICSYNC_DATA,
      kafkaImage: settings.TOPICSYNC_KAFKA_IMAGE,
      mongoImage: settings.TOPICSYNC_MONGO_IMAGE,
    }),
  });
}

function toHttp(settings: Settings, faults: string[]) {
  for (const proxy of settings.HTTP_TRUSTED_PROXIES) {
    if (!isAddressRange(proxy))
      faults.push(`HTTP_TRUSTED_PROXIES: "${proxy}" is neither an address nor a CIDR range`);
  }
  return Object.freeze({
    host: settings.HTTP_HOST,
    port: settings.HTTP_PORT,
    maxConnections: settings.HTTP_MAX_CONNECTIONS,
    /** Where browsers reach the service: an origin, and maybe a path, without a slash at the end. */
    publicUrl: toPublicUrl(settings, faults),
    /** Origins of other sites that may call the push operations. */
    allowedOrigins: settings.HTTP_ALLOWED_ORIGINS.map((text) => toAllowedOrigin(text, faults)),
    /** Addresses and CIDR ranges. */
    trustedProxies: settings.HTTP_TRUSTED_PROXIES,
    /** Undefined for plain HTTP. The files are read again on reload. */
    tls: readHttpTls(settings, faults),
  });
}

function toManagement(settings: Settings, faults: string[]) {
  const { MANAGEMENT_PORT: port, MANAGEMENT_HOST: host = settings.HTTP_HOST } = settings;
  if (port === undefined) return undefined;
  if (port !== 0 && port === settings.HTTP_PORT) faults.push("MANAGEMENT_PORT must differ from HTTP_PORT");
  return Object.freeze({ host, port });
}

function toPublicUrl({ HTTP_PUBLIC_URL: text }: Settings, faults: string[]): string | undefined {
  if (text === undefined) return undefined;
  if (URL.canParse(text)) return new URL(text).href.replace(/\/$/, "");
  faults.push("HTTP_PUBLIC_URL must be a URL, such as https://topicsync.example.org");
  return undefined;
}

/** Returns an origin as browsers send it. They know nothing of hosts in other URLs, such as `capacitor:`. */
function toAllowedOrigin(text: string, faults: string[]): string {
  if (!/^https?:/.test(text)) return text;
  if (URL.canParse(text)) return new URL(text).origin;
  faults.push(`HTTP_ALLOWED_ORIGINS: "${text}" is not an origin such as https://app.example.org`);
  return text;
}

/** Accepts an IP address or a CIDR range, except a prefix of 0, which would trust every caller. */
const isAddressRange = (text: string): boolean =>
  text.includes("/") ? ipaddr.isValidCIDR(text) && !/\/0+$/.test(text) : isIP(text) !== 0;

function readHttpTls(
  settings: Settings,
  faults: string[],
): (TlsPair & { readonly files: TlsFiles }) | undefined {
  const { HTTP_TLS_CERT: cert, HTTP_TLS_KEY: key } = settings;
  if (cert === undefined || key === undefined) return undefined;
  const files = { cert, key };
  const pair = readTlsPair(files);
  if ("cert" in pair) return { ...pair, files };
  faults.push(...pair.faults);
  return undefined;
}

function toOidc(settings: Settings, faults: string[]) {
  const { OIDC_ISSUER: issuer, OIDC_AUDIENCE: audience } = settings;
  if (issuer === undefined || audience === undefined) return undefined;
  if (!isTrustworthy(issuer)) {
    faults.push("OIDC_ISSUER must be an https:// URL (http:// only on this machine)");
  }
  return Object.freeze({
    /** Must equal the claim `iss`. */
    issuer,
    audience,
    /** Name or path of the claim with the roles: `realm_access.roles`. */
    rolesClaim: settings.OIDC_ROLES_CLAIM,
    userClaim: settings.OIDC_USER_CLAIM,
    roleMap: readRoleMap(settings.OIDC_ROLE_MAP, faults),
    /** What the header `typ` of bearer tokens must be; undefined: anything. */
    tokenType: settings.OIDC_TOKEN_TYPE,
  });
}

const checkRoleMap = createValidator<RoleMap>(roleMapSchema);

/** Rights and roles for values of the roles claim, besides topicsync's own roles. */
function readRoleMap(file: string | undefined, faults: string[]): ReadonlyMap<string, readonly string[]> {
  const text = file === undefined ? undefined : readNamedFile("OIDC_ROLE_MAP", file, faults);
  if (text === undefined) return new Map();
  try {
    const checked = checkRoleMap(parseStrictJson(text));
    if (checked.ok) return new Map(Object.entries(checked.value));
    faults.push(
      ...checked.faults.map(({ path, message }) => `OIDC_ROLE_MAP: ${path || "the file"} ${message}`),
    );
  } catch (error) {
    faults.push(`OIDC_ROLE_MAP: ${file} is not valid JSON: ${getErrorMessage(error)}`);
  }
  return new Map();
}

function toSignIn(
  settings: Settings,
  provider: OidcConfig,
  { files, faults }: { readonly files: SecretFiles; readonly faults: string[] },
) {
  const { OIDC_CLIENT_ID: clientId, HTTP_PUBLIC_URL: publicUrl } = settings;
  if (clientId === undefined || publicUrl === undefined) return undefined;
  if (!isTrustworthy(publicUrl)) {
    faults.push("HTTP_PUBLIC_URL must be an https:// URL (http:// only on this machine)");
    return undefined;
  }
  return Object.freeze({
    ...provider,
    clientId,
    /** Undefined for a public client. */
    clientSecret: toSecret("OIDC_CLIENT_SECRET", settings, files),
    /** The scopes requested from the provider, separated by spaces. */
    scope: settings.OIDC_SCOPE,
    /** Where browsers reach the service, as in `toHttp`. */
    publicUrl: new URL(publicUrl).href.replace(/\/$/, ""),
  });
}
