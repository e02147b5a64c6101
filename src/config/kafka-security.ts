import { mskSigner, type KafkaSaslConfig, type KafkaTlsConfig } from "@topicsync/kafka";
import { getErrorMessage } from "@topicsync/lib/errors";
import { readSecretFile, type Secret } from "@topicsync/lib/secret";
import { readClientTls, type ClientTlsFiles } from "@topicsync/lib/tls";
import { isTrustworthy } from "@topicsync/lib/trustworthy-url";
import { secretSettings, type SecretSettingName, type Settings } from "../../schemas/settings.ts";

/** The files that secrets were read from. */
export type SecretFiles = Readonly<Partial<Record<SecretSettingName, string>>>;

/** Adds what is wrong to `faults`. */
export function toKafkaTls(
  settings: Settings,
  secretFiles: SecretFiles,
  faults: string[],
): KafkaTlsConfig | undefined {
  const names = { ca: "KAFKA_TLS_CA", cert: "KAFKA_TLS_CERT", key: "KAFKA_TLS_KEY" } as const;
  const given = Object.entries(names).flatMap(([part, setting]) => {
    const file = settings[setting];
    return file === undefined ? [] : [[part, { setting, file }] as const];
  });
  if (!settings.KAFKA_TLS) {
    faults.push(...given.map(([, { setting }]) => `${setting} is set, but KAFKA_TLS is not "true"`));
    return undefined;
  }
  const files: ClientTlsFiles = Object.fromEntries(given);
  const passphrase = toSecret("KAFKA_TLS_KEY_PASSPHRASE", settings, secretFiles);
  const content = readClientTls(
    files,
    { setting: "KAFKA_TLS_KEY_PASSPHRASE", value: passphrase?.value },
    faults,
  );
  return { files, passphrase, content };
}

/** Adds what is wrong to `faults`. */
export function toKafkaSasl(
  settings: Settings,
  secretFiles: SecretFiles,
  faults: string[],
): KafkaSaslConfig | undefined {
  const mechanism = settings.KAFKA_SASL_MECHANISM;
  if (mechanism === undefined) return undefined;
  faults.push(...findForeign(settings, mechanism));
  if (mechanism === "aws-msk-iam") return toMskIam(settings, faults);
  if (mechanism === "oauthbearer") return toOauthBearer(settings, secretFiles, faults);
  const { KAFKA_SASL_USERNAME: username } = settings;
  const password = toSecret("KAFKA_SASL_PASSWORD", settings, secretFiles);
  for (const name of ["KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD"] as const)
    if (settings[name] === undefined) faults.push(`${name} is required when KAFKA_SASL_MECHANISM is set`);
  return username === undefined || password === undefined ? undefined : { mechanism, username, password };
}

/** Settings of another mechanism: whoever sets them expects an effect. */
function findForeign(settings: Settings, mechanism: string): string[] {
  const isPassword = mechanism === "plain" || mechanism.startsWith("scram");
  const foreign = [
    ...(isPassword ? [] : (["KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD"] as const)),
    ...(mechanism === "oauthbearer"
      ? []
      : (["KAFKA_OAUTH_TOKEN_URL", "KAFKA_OAUTH_TOKEN_FILE", "KAFKA_OAUTH_EXTENSIONS"] as const)),
  ];
  return foreign
    .filter((name) => settings[name] !== undefined)
    .map((name) => `${name} has no effect with KAFKA_SASL_MECHANISM=${mechanism}; unset one of them`);
}

function toMskIam({ AWS_REGION: region, KAFKA_TLS: hasTls }: Settings, faults: string[]) {
  const needs = "KAFKA_SASL_MECHANISM=aws-msk-iam";
  if (region === undefined) faults.push(`AWS_REGION is required for ${needs}`);
  if (!hasTls) faults.push(`KAFKA_TLS must be "true" for ${needs}`);
  try {
    import.meta.resolve(mskSigner);
  } catch {
    faults.push(`${needs} needs the package ${mskSigner}: npm install ${mskSigner}`);
  }
  return region === undefined ? undefined : ({ mechanism: "aws-msk-iam", region } as const);
}

function toOauthBearer(
  settings: Settings,
  secretFiles: SecretFiles,
  faults: string[],
): KafkaSaslConfig | undefined {
  const {
    KAFKA_OAUTH_TOKEN_URL: tokenUrl,
    KAFKA_OAUTH_TOKEN_FILE: tokenFile,
    KAFKA_OAUTH_CLIENT_ID: clientId,
    KAFKA_OAUTH_SCOPE: scope,
  } = settings;
  const mechanism = "oauthbearer";
  const extensions = Object.fromEntries(
    (settings.KAFKA_OAUTH_EXTENSIONS ?? []).map((text) => {
      const at = text.indexOf("=");
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
  if ("auth" in extensions) faults.push("KAFKA_OAUTH_EXTENSIONS must not contain auth, which is the token");
  if ((tokenUrl === undefined) === (tokenFile === undefined)) {
    faults.push(
      tokenUrl === undefined
        ? "KAFKA_OAUTH_TOKEN_URL or KAFKA_OAUTH_TOKEN_FILE is required for KAFKA_SASL_MECHANISM=oauthbearer"
        : "KAFKA_OAUTH_TOKEN_URL and KAFKA_OAUTH_TOKEN_FILE are both set; set one of them",
    );
    return undefined;
  }
  if (tokenFile !== undefined) {
    const file = readTokenFile(tokenFile, faults);
    return file && { mechanism, source: { tokenFile: file }, extensions };
  }
  if (tokenUrl !== undefined && !isTrustworthy(tokenUrl))
    faults.push("KAFKA_OAUTH_TOKEN_URL must be an https:// URL (http:// only on this machine)");
  const clientSecret = toSecret("KAFKA_OAUTH_CLIENT_SECRET", settings, secretFiles);
  if (tokenUrl === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { mechanism, source: { tokenUrl, clientId, clientSecret, scope }, extensions };
}

function readTokenFile(file: string, faults: string[]): Secret | undefined {
  const setting = "KAFKA_OAUTH_TOKEN_FILE";
  try {
    return { setting, value: readSecretFile(file), file };
  } catch (error) {
    faults.push(`${setting}: ${getErrorMessage(error)}`);
    return undefined;
  }
}

/** A secret setting with its value and file; undefined if it is not set. */
export function toSecret(
  setting: SecretSettingName,
  settings: Settings,
  files: SecretFiles,
): Secret | undefined {
  const value = settings[setting];
  const file = files[setting];
  return value === undefined
    ? undefined
    : { setting: file === undefined ? setting : `${setting}_FILE`, value, file };
}

/** The files of secrets among the variables of the environment. */
export const findSecretFiles = (environment: Readonly<Record<string, string | undefined>>): SecretFiles =>
  Object.fromEntries(
    secretSettings.flatMap((name) => {
      const file = environment[`${name}_FILE`];
      return file === undefined || file === "" ? [] : [[name, file] as const];
    }),
  );
