/** The Helm chart: rendered by Helm, held against Kubernetes' schemas and against the service's own settings. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { parse, stringify } from "yaml";

import { chartValuesSchema } from "../../../docs/chart-values.ts";
import { secretSettings, settingsSchema } from "../../../schemas/settings.ts";
import { readConfig } from "../../../src/config.ts";
import { root } from "../docs/pages.ts";
import { bad, good, plainSecrets } from "./chart-values.ts";
import { chartFolder, renderChart, type Manifest, type RenderedChart } from "./helm/render.ts";
import { kubernetesCheck, kubernetesVersions } from "./kubernetes/schemas.ts";

type Good = keyof typeof good;
const goodNames = Object.keys(good) as Good[];

/** What an operator gives to upgrade the one with the least values: another version, and one more setting. */
const upgraded = {
  ...good.least,
  image: { tag: "9.9.9" },
  settings: { ...good.least.settings, LOG_LEVEL: "debug" },
};

let chart: RenderedChart;

before(async () => {
  const refused = Object.entries(bad).map(([name, { values }]) => [name, values] as const);
  chart = await renderChart({ ...good, ...Object.fromEntries(refused), upgraded });
});

const chartFile = (name: string): string => readFileSync(join(chartFolder, name), "utf8");

function manifests(name: Good): readonly Manifest[] {
  const rendered = chart.rendered.get(name);
  assert.ok(rendered !== undefined);
  assert.equal(rendered.refusal, "", name);
  return rendered.manifests;
}

function one(name: Good, kind: string): Manifest {
  const [found, ...others] = manifests(name).filter((manifest) => manifest.kind === kind);
  assert.ok(found !== undefined && others.length === 0, `${kind} of ${name}`);
  return found;
}

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a wrong guess fails the test
  readonly [member: string]: any;
}

interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a wrong guess fails the test
  readonly spec: any;
}

const kinds = (name: Good): string[] =>
  manifests(name)
    .map(({ kind }) => kind)
    .toSorted();
const podOf = (name: Good): Pod => one(name, "Deployment").spec.template as Pod;
const containerOf = (name: Good): Container => podOf(name).spec.containers[0] as Container;
const environmentOf = (name: Good): Record<string, string> =>
  Object.fromEntries(containerOf(name).env.map(({ name, value }) => [name, value]));
const volumeOf = (name: Good, volume: string) =>
  (podOf(name).spec.volumes as { name: string; projected?: { sources: object[] } }[]).find(
    (one) => one.name === volume,
  );

type Labels = Readonly<Record<string, string>>;

const matches = (labels: Labels, selector: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

/** Kinds that operators bring: Kubernetes itself has no schema of them. */
const brought = ["ScaledObject", "ServiceMonitor", "TriggerAuthentication"];

describe("the Helm chart", () => {
  it("has nothing that the strict linter complains of", () => {
    assert.equal(chart.complaints, "");
  });

  for (const release of kubernetesVersions)
    it(`renders what Kubernetes ${release} takes`, async () => {
      const faultsOf = await kubernetesCheck(release);
      for (const name of goodNames)
        for (const manifest of manifests(name).filter(({ kind }) => !brought.includes(kind)))
          assert.deepEqual(faultsOf(manifest), [], `${manifest.kind} of ${name}`);
    });

  it("renders what was asked for, and no more", () => {
    const always = ["Deployment", "Service"];
    assert.deepEqual(kinds("least"), [...always, "PodDisruptionBudget", "ServiceAccount"].toSorted());
    assert.deepEqual(kinds("busy"), [...always, "HorizontalPodAutoscaler"].toSorted());
    assert.deepEqual(
      kinds("existing"),
      [
        ...always,
        "PodDisruptionBudget",
        "ScaledObject",
        "ServiceAccount",
        "TriggerAuthentication",
      ].toSorted(),
    );
    const options = ["Ingress", "NetworkPolicy", "Secret", "ServiceMonitor"];
    assert.deepEqual(kinds("everything"), [...kinds("existing"), ...options].toSorted());
  });

  for (const [name, { reason }] of Object.entries(bad))
    it(`refuses ${name}`, () => {
      const rendered = chart.rendered.get(name);
      assert.match(rendered?.refusal ?? "", reason);
      assert.deepEqual(rendered?.manifests, []);
    });

  it("has the schema of values that `npm run docs` writes", () => {
    assert.deepEqual(
      JSON.parse(chartFile("values.schema.json")),
      JSON.parse(JSON.stringify(chartValuesSchema())),
    );
  });

  it("is of the service's version, and explains each of its values", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    assert.equal(parse(chartFile("Chart.yaml")).appVersion, version);
    const readme = chartFile("README.md");
    const unexplained = leaves(parse(chartFile("values.yaml"))).filter(
      (path) => !readme.includes(`\`${path}\``),
    );
    assert.deepEqual(unexplained, []);
  });
});

/** The paths of the values: `image.tag`. What Kubernetes takes as it is counts as one. */
function leaves(values: Record<string, unknown>, before = ""): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const path = `${before}${name}`;
    const whole = typeof value !== "object" || value === null || Array.isArray(value);
    if (whole || Object.keys(value).length === 0 || /^(resources|.*ecurityContext)$/.test(path))
      return [path];
    return leaves(value as Record<string, unknown>, `${path}.`);
  });
}

describe("an upgrade", () => {
  /** Each line of a manifest that differs, as `diff` tells it. */
  const differences = (before: Manifest, after: Manifest): string[] => {
    const lines = (manifest: Manifest) => stringify(manifest).split("\n");
    const [old, young] = [lines(before), lines(after)];
    return [
      ...old.filter((line) => !young.includes(line)).map((line) => `< ${line.trim()}`),
      ...young.filter((line) => !old.includes(line)).map((line) => `> ${line.trim()}`),
    ];
  };

  it("changes what was changed and the version's label, and nothing that Kubernetes lets nobody change", () => {
    const after = chart.rendered.get("upgraded")?.manifests ?? [];
    const before = manifests("least");
    assert.deepEqual(
      after.map(({ kind, metadata }) => [kind, metadata.name]),
      before.map(({ kind, metadata }) => [kind, metadata.name]),
    );
    const label = (version: string) => `app.kubernetes.io/version: ${version}`;
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    for (const [index, manifest] of before.entries()) {
      const told = differences(manifest, after[index] ?? manifest);
      const expected = [`< ${label(version)}`, `> ${label("9.9.9")}`];
      if (manifest.kind === "Deployment")
        expected.push(
          ...[`< image: topicsync:${version}`, "> image: topicsync:9.9.9"],
          ...["> - name: LOG_LEVEL", "> value: debug"],
        );
      assert.deepEqual(told.toSorted(), expected.toSorted(), manifest.kind);
    }
  });
});

for (const name of goodNames)
  describe(`the chart with the values "${name}"`, () => {
    it("has selectors that find its pods, and references that lead somewhere", () => {
      const deployment = one(name, "Deployment");
      const { labels } = podOf(name).metadata;
      const service = one(name, "Service");
      assert.ok(matches(labels, deployment.spec.selector.matchLabels));
      assert.ok(matches(labels, service.spec.selector));
      for (const { kind, spec } of manifests(name)) {
        if (kind === "PodDisruptionBudget") assert.ok(matches(labels, spec.selector.matchLabels));
        if (kind === "NetworkPolicy") assert.ok(matches(labels, spec.podSelector.matchLabels));
        if (kind === "ServiceMonitor") assert.ok(matches(service.metadata.labels, spec.selector.matchLabels));
        if (spec?.scaleTargetRef) assert.equal(spec.scaleTargetRef.name, deployment.metadata.name);
        if (kind === "Ingress")
          for (const { backend } of spec.rules[0].http.paths)
            assert.deepEqual(backend.service, { name: service.metadata.name, port: { name: "http" } });
      }
      for (const { labelSelector } of podOf(name).spec.topologySpreadConstraints)
        if (labelSelector) assert.ok(matches(labels, labelSelector.matchLabels));
      assert.deepEqual(
        manifests(name).map(({ metadata }) => metadata.namespace),
        manifests(name).map(() => "messaging"),
      );
    });

    it("may do nothing in its pods but its work", () => {
      const { spec } = podOf(name);
      assert.equal(spec.automountServiceAccountToken, false);
      assert.equal(spec.securityContext.runAsNonRoot, true);
      assert.ok(spec.securityContext.runAsUser > 0);
      assert.deepEqual(spec.securityContext.seccompProfile, { type: "RuntimeDefault" });
      assert.deepEqual(containerOf(name).securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      assert.ok(containerOf(name).resources.requests.memory && containerOf(name).resources.limits.memory);
    });

    it("is asked by three probes at the port where it listens, and has the time to stop", () => {
      const { startupProbe, livenessProbe, readinessProbe, ports, lifecycle } = containerOf(name);
      const scheme = name === "everything" ? "HTTPS" : "HTTP";
      for (const [probe, path] of [
        [startupProbe, "/healthz"],
        [livenessProbe, "/healthz"],
        [readinessProbe, "/readyz"],
      ])
        assert.deepEqual(probe.httpGet, { path, port: "http", scheme });
      assert.deepEqual(ports, [
        { name: "http", containerPort: Number(environmentOf(name)["HTTP_PORT"]), protocol: "TCP" },
      ]);
      assert.equal(environmentOf(name)["HTTP_HOST"], "0.0.0.0");
      // HTTP alone may take ten seconds to drain.
      assert.ok(
        podOf(name).spec.terminationGracePeriodSeconds >= Number(lifecycle.preStop.sleep.seconds) + 30,
      );
    });

    it("has in its environment settings of the service, which understands them", () => {
      const environment = environmentOf(name);
      const files = secretSettings.map((secret) => `${secret}_FILE`);
      const known = [...Object.keys(settingsSchema.properties), ...files, "NODE_EXTRA_CA_CERTS"];
      assert.deepEqual(
        Object.keys(environment).filter((variable) => !known.includes(variable)),
        [],
      );
      // The files are there in the pod only.
      const open = Object.entries(environment).filter(([, value]) => !value.startsWith("/"));
      const secrets = secretSettings.filter((secret) => environment[`${secret}_FILE`] !== undefined);
      const config = readConfig({
        ...Object.fromEntries(open),
        ...Object.fromEntries(secrets.map((secret) => [secret, plainSecrets[secret]])),
      });
      assert.deepEqual(config.kafka.brokers, ["kafka-0:9092", "kafka-1:9092"]);
    });

    it("mounts every file that its settings name, and keeps secrets out of everything else", () => {
      const mounts = containerOf(name).volumeMounts;
      for (const mount of mounts) assert.ok(volumeOf(name, mount.name) !== undefined, mount.name);
      for (const [variable, value] of Object.entries(environmentOf(name)))
        if (value.startsWith("/")) {
          const mount = mounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
          assert.ok(mount !== undefined, `${variable} is mounted`);
        }
      const rest = manifests(name).filter(({ kind }) => kind !== "Secret");
      for (const secret of Object.values(plainSecrets))
        assert.ok(!JSON.stringify(rest).includes(secret), "a secret stands in a manifest");
    });
  });

describe("what the chart is told", () => {
  it("comes to the service as it was meant, numbers and lists too", () => {
    const { HTTP_MAX_CONNECTIONS, HTTP_TRUSTED_PROXIES, KAFKA_TLS, HTTP_TLS_CERT, KAFKA_TLS_CERT } =
      environmentOf("everything");
    assert.deepEqual(
      { HTTP_MAX_CONNECTIONS, HTTP_TRUSTED_PROXIES, KAFKA_TLS, HTTP_TLS_CERT, KAFKA_TLS_CERT },
      {
        HTTP_MAX_CONNECTIONS: "1000000",
        HTTP_TRUSTED_PROXIES: "10.0.0.0/8,fd00::/8",
        KAFKA_TLS: "true",
        HTTP_TLS_CERT: "/run/topicsync/tls/tls.crt",
        KAFKA_TLS_CERT: "/run/topicsync/kafka-tls/tls.crt",
      },
    );
  });

  it("makes a Secret of the values, or mounts those that are there under the settings' names", () => {
    const { stringData, metadata } = one("everything", "Secret");
    assert.deepEqual(stringData, plainSecrets);
    const sourcesOf = (name: Good) => volumeOf(name, "secrets")?.projected?.sources;
    assert.deepEqual(sourcesOf("everything"), [{ secret: { name: metadata.name } }]);
    assert.deepEqual(sourcesOf("existing"), [
      { secret: { name: "admin", items: [{ key: "password", path: "BOOTSTRAP_PASSWORD" }] } },
      { secret: { name: "kafka-user", items: [{ key: "password", path: "KAFKA_SASL_PASSWORD" }] } },
      {
        secret: {
          name: "topicsync-mongodb",
          items: [{ key: "connectionString.standardSrv", path: "MONGODB_URI" }],
        },
      },
    ]);
  });

  it("lets KEDA ask the brokers for the lag of the groups that the service has, as it does itself", () => {
    const shared = { offsetResetPolicy: "earliest", allowIdleConsumers: "false", lagThreshold: "5000" };
    const bootstrapServers = "kafka-0:9092,kafka-1:9092";
    const secured = { sasl: "scram_sha512", tls: "enable" };
    const authenticationRef = { name: "events-topicsync" };
    const trigger = (consumerGroup: string, topic: string) => ({
      type: "kafka",
      metadata: { bootstrapServers, consumerGroup, topic, ...shared, ...secured },
      authenticationRef,
    });
    assert.deepEqual(one("existing", "ScaledObject").spec.triggers, [
      trigger("mobile", "topicsync.announcements"),
    ]);
    assert.deepEqual(one("everything", "ScaledObject").spec.triggers, [
      trigger("topicsync", "topicsync.announcements"),
      trigger("topicsync.push-feedback", "push.feedback"),
    ]);
    const username = { parameter: "username", name: "KAFKA_SASL_USERNAME", containerName: "topicsync" };
    assert.deepEqual(one("existing", "TriggerAuthentication").spec, {
      env: [username],
      secretTargetRef: [{ parameter: "password", name: "kafka-user", key: "password" }],
    });
    assert.deepEqual(one("everything", "TriggerAuthentication").spec, {
      env: [username],
      secretTargetRef: [
        { parameter: "password", name: "events-topicsync", key: "KAFKA_SASL_PASSWORD" },
        { parameter: "ca", name: "kafka-tls", key: "ca.crt" },
        { parameter: "cert", name: "kafka-tls", key: "tls.crt" },
        { parameter: "key", name: "kafka-tls", key: "tls.key" },
      ],
    });
    for (const name of ["existing", "everything", "busy"] as const)
      assert.equal(one(name, "Deployment").spec.replicas, undefined, "the autoscaler has the number");
  });

  it("lets Prometheus and the Ingress controller come by the scheme that is served", () => {
    assert.deepEqual(one("everything", "ServiceMonitor").spec.endpoints, [
      {
        port: "http",
        path: "/metrics",
        scheme: "https",
        interval: "30s",
        scrapeTimeout: "10s",
        tlsConfig: { serverName: "topicsync" },
      },
    ]);
    assert.equal(one("everything", "Service").spec.ports[0].appProtocol, "https");
    const paths = one("everything", "Ingress").spec.rules[0].http.paths;
    assert.ok(!paths.some(({ path }: { path: string }) => "/metrics".startsWith(path)));
  });
});
