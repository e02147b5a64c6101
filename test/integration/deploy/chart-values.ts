/** Values for the chart: the required ones, every option, those of the guide, and invalid ones. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import { parseBlocks, root } from "../docs/pages.ts";

const brokers = ["kafka-0:9092", "kafka-1:9092"];
const uri = { name: "topicsync-mongodb", key: "connectionString.standardSrv" };
const minimal = { settings: { KAFKA_BROKERS: brokers }, secrets: { existing: { MONGODB_URI: uri } } };

/** Texts that may occur in no manifest except the Secret. */
export const plainSecrets = {
  MONGODB_URI: "mongodb://topicsync:geheim-1@mongo:27017/topicsync",
  KAFKA_SASL_PASSWORD: "geheim-2",
  BOOTSTRAP_PASSWORD: "geheim-3",
  OIDC_CLIENT_SECRET: "geheim-4",
};

const loginSettings = {
  KAFKA_BROKERS: brokers.join(","),
  KAFKA_SASL_MECHANISM: "scram-sha-512",
  KAFKA_SASL_USERNAME: "topicsync",
  BOOTSTRAP_USER: "admin",
};

const namedRouter = { KAFKA_EVENTS_TOPIC: "alarms", KAFKA_EVENTS_GROUP_ID: "alarms-router" };

const everything = {
  image: { repository: "registry.example.org/topicsync", digest: `sha256:${"0a".repeat(32)}` },
  imagePullSecrets: [{ name: "registry" }],
  settings: {
    ...loginSettings,
    HTTP_PORT: 8443,
    HTTP_MAX_CONNECTIONS: 1_000_000,
    HTTP_TRUSTED_PROXIES: ["10.0.0.0/8", "fd00::/8"],
    KAFKA_PUSH_FEEDBACK_TOPIC: "push.feedback",
    PUSH_PLATFORMS: "ios,android",
    KAFKA_EVENTS_TOPIC: "events",
    // Used by `topicsync topics egress --create`, also where the service creates none.
    KAFKA_EGRESS_PARTITIONS: 6,
    HTTP_PUBLIC_URL: "https://topicsync.example.org",
    OIDC_ISSUER: "https://id.example.org",
    OIDC_AUDIENCE: "topicsync",
    OIDC_CLIENT_ID: "topicsync-console",
  },
  secrets: { values: plainSecrets },
  tls: { secretName: "topicsync-tls" },
  kafkaTls: {
    ca: { name: "kafka-ca", key: "ca.crt" },
    cert: { name: "kafka-tls", key: "tls.crt" },
    key: { name: "kafka-tls", key: "tls.key" },
  },
  mongodbTls: {
    ca: { name: "mongodb-ca", key: "ca.pem" },
    certificateKey: { name: "mongodb-user", key: "both.pem" },
  },
  extraEnv: [{ name: "NODE_EXTRA_CA_CERTS", value: "/etc/authorities/ca.crt" }],
  extraVolumes: [{ name: "authorities", configMap: { name: "authorities" } }],
  extraVolumeMounts: [{ name: "authorities", mountPath: "/etc/authorities" }],
  service: { type: "LoadBalancer", port: 443, annotations: { "example.org/internal": "true" } },
  ingress: { enabled: true, className: "nginx", annotations: { a: "b" }, tlsSecretName: "topicsync-public" },
  networkPolicy: {
    enabled: true,
    from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress" } } }],
    monitoring: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }],
    egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }], ports: [{ port: 27017 }, { port: 9093 }] }],
  },
  serviceMonitor: {
    enabled: true,
    labels: { release: "prometheus" },
    tlsConfig: { serverName: "topicsync" },
  },
  prometheusRule: { enabled: true, labels: { release: "prometheus" } },
  dashboard: { enabled: true, labels: { team: "messaging" }, annotations: { folder: "messaging" } },
  sweep: { enabled: true, unseenFor: "90d" },
  autoscaling: { by: "lag" },
  serviceAccount: { annotations: { a: "b" } },
  podAnnotations: { a: "b" },
  podLabels: { team: "messaging" },
  priorityClassName: "important",
  nodeSelector: { "kubernetes.io/arch": "amd64" },
  tolerations: [{ key: "messaging", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
};

/** The values that the guide shows for Strimzi: with SCRAM, and with a client certificate. */
const page = "docs/deployment.md";
const [scram = {}, certificate = {}] = parseBlocks(page, readFileSync(join(root, page), "utf8"))
  .filter(({ info, text }) => info === "yaml" && text.includes("kafkaTls"))
  .map(({ text }) => parse(text) as { settings?: object; secrets?: { existing?: object } });

/** Adds the required values. */
const complete = ({ settings, secrets, ...more }: typeof scram) => ({
  ...more,
  settings: { ...minimal.settings, ...settings },
  secrets: { existing: { ...minimal.secrets.existing, ...secrets?.existing } },
});

/** Values that the chart accepts. */
export const good = {
  minimal,
  strimziScram: complete(scram),
  strimziTls: complete(certificate),
  /** Kafka with an encrypted key, and tokens by client credentials. */
  oauth: complete({
    settings: {
      KAFKA_SASL_MECHANISM: "oauthbearer",
      KAFKA_OAUTH_TOKEN_URL: "https://id.example.org/token",
      KAFKA_OAUTH_CLIENT_ID: "topicsync",
    },
    secrets: {
      existing: {
        KAFKA_OAUTH_CLIENT_SECRET: { name: "kafka-oauth", key: "secret" },
        KAFKA_TLS_KEY_PASSPHRASE: { name: "kafka-user", key: "passphrase" },
      },
    },
    kafkaTls: {
      cert: { name: "kafka-user", key: "user.crt" },
      key: { name: "kafka-user", key: "user.key" },
    },
  } as typeof scram),
  /** Without a port of its own for probes and metrics. */
  together: {
    settings: { ...minimal.settings, MANAGEMENT_PORT: null },
    secrets: minimal.secrets,
    serviceMonitor: { enabled: true },
    networkPolicy: { enabled: true },
  },
  everything,
  existing: {
    settings: { ...loginSettings, KAFKA_TLS: true, KAFKA_GROUP_ID: "mobile", ...namedRouter },
    secrets: {
      existing: {
        MONGODB_URI: uri,
        KAFKA_SASL_PASSWORD: { name: "kafka-user", key: "password" },
        BOOTSTRAP_PASSWORD: { name: "admin", key: "password" },
      },
    },
    autoscaling: { by: "lag", maxReplicas: 12 },
  },
  busy: {
    ...minimal,
    autoscaling: { by: "cpu" },
    podDisruptionBudget: { enabled: false },
    serviceAccount: { create: false },
    topologySpreadConstraints: [
      { topologyKey: "kubernetes.io/hostname", maxSkew: 2, whenUnsatisfiable: "DoNotSchedule" },
    ],
  },
};

/** Values that the chart rejects, with a part of the reason. */
export const bad: Readonly<Record<string, { readonly values: object; readonly reason: RegExp }>> = {
  "no broker": { values: { ...minimal, settings: {} }, reason: /settings\.KAFKA_BROKERS: give the brokers/ },
  "no database": {
    values: { ...minimal, secrets: {} },
    reason: /secrets\.existing\.MONGODB_URI: give the name/,
  },
  "half of a client certificate": {
    values: { ...minimal, kafkaTls: { cert: { name: "kafka-tls", key: "tls.crt" } } },
    reason: /kafkaTls\.cert and kafkaTls\.key belong together/,
  },
  "the name of a Secret without its key": {
    values: { ...minimal, mongodbTls: { ca: { name: "mongodb-ca" } } },
    reason: /at '\/mongodbTls\/ca'/,
  },
  "alerts without metrics": {
    values: { ...minimal, prometheusRule: { enabled: true } },
    reason: /prometheusRule\.enabled needs serviceMonitor\.enabled/,
  },
  "a span of tokens that is not one": {
    values: { ...minimal, sweep: { enabled: true, unseenFor: "a year" } },
    reason: /at '\/sweep\/unseenFor'/,
  },
  "a misspelt value": { values: { ...minimal, replicas: 3 }, reason: /'replicas' not allowed/ },
  "a misspelt value within another": {
    values: { ...minimal, autoscaling: { enabled: true } },
    reason: /at '\/autoscaling'.*'enabled' not allowed/,
  },
  "a misspelt setting": {
    values: { ...minimal, settings: { KAFKA_BROKERS: brokers, LOG_LEVL: "debug" } },
    reason: /at '\/settings'.*'LOG_LEVL' not allowed/,
  },
  "a setting out of its range": {
    values: { ...minimal, settings: { KAFKA_BROKERS: brokers, HTTP_PORT: 70_000 } },
    reason: /at '\/settings\/HTTP_PORT'/,
  },
  "a secret among the settings": {
    values: { ...minimal, settings: { KAFKA_BROKERS: brokers, MONGODB_URI: plainSecrets.MONGODB_URI } },
    reason: /at '\/settings'.*'MONGODB_URI' not allowed/,
  },
  "a secret from two places": {
    values: { ...minimal, secrets: { existing: { MONGODB_URI: uri }, values: plainSecrets } },
    reason: /MONGODB_URI is both in existing and in values/,
  },
  "a login without its password": {
    values: { ...minimal, settings: { ...loginSettings } },
    reason: /settings\.BOOTSTRAP_USER and secrets\.existing\.BOOTSTRAP_PASSWORD .*belong together/,
  },
  "a login to Kafka without its password": {
    values: { ...minimal, settings: { ...minimal.settings, KAFKA_SASL_MECHANISM: "plain" } },
    reason: /settings\.KAFKA_SASL_MECHANISM and secrets\.existing\.KAFKA_SASL_PASSWORD .*belong together/,
  },
  "autoscaling by a lag that KEDA cannot read": {
    values: {
      settings: { ...minimal.settings, KAFKA_SASL_MECHANISM: "oauthbearer" },
      secrets: minimal.secrets,
      autoscaling: { by: "lag" },
    },
    reason: /autoscaling\.by: KEDA cannot log in .* oauthbearer/,
  },
  "a secret without its client": {
    values: { ...minimal, secrets: { existing: { MONGODB_URI: uri, OIDC_CLIENT_SECRET: uri } } },
    reason: /OIDC_CLIENT_SECRET is the secret of settings\.OIDC_CLIENT_ID/,
  },
  "half of a pair of settings": {
    values: { ...minimal, settings: { KAFKA_BROKERS: brokers, OIDC_ISSUER: "https://id.example.org" } },
    reason: /at '\/settings'.*OIDC_AUDIENCE/,
  },
};
