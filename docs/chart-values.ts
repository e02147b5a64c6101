/** The schema of the Helm chart's values, with which Helm rejects unknown values. */
import { secretSettings, settingsSchema, type SettingName } from "../schemas/settings.ts";
import { minPasswordLength } from "../schemas/user.ts";

const text = { type: "string" } as const;
const list = { type: "array" } as const;
/** Checked by Kubernetes itself. */
const anyObject = { type: "object" } as const;
const flag = { type: "boolean" } as const;
const texts = { type: "object", additionalProperties: { type: "string" } } as const;
const count = (minimum: number) => ({ type: "integer", minimum }) as const;

/** An object with these members and no others: a misspelled one would be ignored silently. */
const only = (properties: object) => ({ type: "object", additionalProperties: false, properties });

/** A key of a Secret, or nothing. */
const secretKey = {
  ...only({ name: text, key: text }),
  dependencies: { name: ["key"], key: ["name"] },
};

const settingNames = Object.keys(settingsSchema.properties) as SettingName[];
const isSecret = (name: string): boolean => secretSettings.some((secret) => secret === name);

/** The schema of the chart's values (JSON Schema draft-07, which every Helm understands). */
export const chartValuesSchema = (): object => ({
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Values of the chart topicsync",
  ...only({
    // Set by Helm if the chart is part of another.
    global: anyObject,
    image: only({
      repository: text,
      tag: text,
      digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
      pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
    }),
    imagePullSecrets: list,
    nameOverride: text,
    fullnameOverride: text,
    replicaCount: count(0),
    settings: settings(),
    secrets: secrets(),
    tls: only({ secretName: text }),
    kafkaTls: only({ ca: secretKey, cert: secretKey, key: secretKey }),
    mongodbTls: only({ ca: secretKey, certificateKey: secretKey }),
    extraEnv: list,
    extraVolumes: list,
    extraVolumeMounts: list,
    resources: anyObject,
    probes: only({ readiness: only({ path: { enum: ["/readyz", "/healthz"] } }) }),
    terminationGracePeriodSeconds: count(1),
    preStopSleepSeconds: count(0),
    service: only({
      type: { enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
      port: { type: "integer", minimum: 1, maximum: 65535 },
      ipFamilyPolicy: { enum: ["SingleStack", "PreferDualStack", "RequireDualStack"] },
      annotations: texts,
    }),
    ingress: only({
      enabled: flag,
      className: text,
      annotations: texts,
      host: text,
      paths: { type: "array", minItems: 1, items: { type: "string", pattern: "^/" } },
      tlsSecretName: text,
    }),
    podDisruptionBudget: only({ enabled: flag, maxUnavailable: { type: ["integer", "string"] } }),
    networkPolicy: only({ enabled: flag, from: list, monitoring: list, egress: list }),
    serviceMonitor: only({
      enabled: flag,
      interval: text,
      scrapeTimeout: text,
      labels: texts,
      tlsConfig: anyObject,
    }),
    prometheusRule: only({ enabled: flag, labels: texts }),
    dashboard: only({ enabled: flag, labels: texts, annotations: texts }),
    sweep: only({
      enabled: flag,
      schedule: { type: "string", minLength: 1 },
      unseenFor: { type: "string", pattern: "^[1-9][0-9]*[hdw]$" },
    }),
    autoscaling: only({
      by: { enum: ["none", "lag", "cpu"] },
      minReplicas: count(1),
      maxReplicas: count(1),
      lag: only({ threshold: count(1), pollingInterval: count(1), cooldownPeriod: count(0) }),
      cpu: only({ averageUtilization: count(1) }),
    }),
    serviceAccount: only({ create: flag, name: text, annotations: texts }),
    podAnnotations: texts,
    podLabels: texts,
    podSecurityContext: anyObject,
    securityContext: anyObject,
    priorityClassName: text,
    nodeSelector: texts,
    tolerations: list,
    affinity: anyObject,
    topologySpreadConstraints: list,
  }),
});

/** The service's settings except the secret ones, and which of them require each other. */
function settings(): object {
  const open = settingNames.filter((name) => !isSecret(name));
  const together = Object.entries(settingsSchema.dependentRequired)
    .filter(([name]) => !isSecret(name))
    .map(([name, others]) => [name, others.filter((other) => !isSecret(other))] as const)
    .filter(([, others]) => others.length > 0);
  return {
    ...only(Object.fromEntries(open.map((name) => [name, setting(name)]))),
    dependencies: Object.fromEntries(together),
  };
}

/** Left out: defaults are the service's, and `expected` is a keyword of our own validation messages. */
const ownWords = ["default", "expected"];

/** As the service checks it, with YAML's types; a list may also be a comma-separated text. */
function setting(name: SettingName): object {
  const known = Object.entries(settingsSchema.properties[name]).filter(([word]) => !ownWords.includes(word));
  const schema: Record<string, unknown> = Object.fromEntries(known);
  return schema["type"] === "array" ? { ...schema, type: ["array", "string"] } : schema;
}

function secrets(): object {
  const each = (schema: object) => Object.fromEntries(secretSettings.map((name) => [name, schema]));
  const named = { type: "string", minLength: 1 };
  return only({
    existing: only(each({ ...only({ name: named, key: named }), required: ["name", "key"] })),
    values: only({
      ...each(named),
      BOOTSTRAP_PASSWORD: { type: "string", minLength: minPasswordLength },
    }),
  });
}
