/** The Helm chart: rendered by Helm, checked against Kubernetes' schemas and the service's settings. */
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
import { createManifestCheck, kubernetesVersions } from "./kubernetes/schemas.ts";

type Good = keyof typeof good;
const goodNames = Object.keys(good) as Good[];

/** An upgrade of the minimal values: another version, and one more setting. */
const upgraded = {
  ...good.minimal,
  image: { tag: "9.9.9" },
  settings: { ...good.minimal.settings, LOG_LEVEL: "debug" },
};

let chart: RenderedChart;

before(async () => {
  const rejected = Object.entries(bad).map(([name, { values }]) => [name, values] as const);
  chart = await renderChart({ ...good, ...Object.fromEntries(rejected), upgraded });
});

const readChartFile = (name: string): string => readFileSync(join(chartFolder, name), "utf8");

function getManifests(name: Good): readonly Manifest[] {
  const rendered = chart.rendered.get(name);
  assert.ok(rendered !== undefined);
  assert.equal(rendered.rejection, "", name);
  return rendered.manifests;
}

function getManifest(name: Good, kind: string): Manifest {
  const [found, ...others] = getManifests(name).filter((manifest) => manifest.kind === kind);
  assert.ok(found !== undefined && others.length === 0, `${kind} of ${name}`);
  return found;
}

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  // oxlint-disable-next-line typescript/no-explicit-any -- a wrong guess fails the test
  readonly [member: string]: any;
}

interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  // oxlint-disable-next-line typescript/no-explicit-any -- a wrong guess fails the test
  readonly spec: any;
}

const listKinds = (name: Good): string[] =>
  getManifests(name)
    .map(({ kind }) => kind)
    .toSorted();
const getPod = (name: Good): Pod => getManifest(name, "Deployment").spec.template as Pod;
const getContainer = (name: Good): Container => getPod(name).spec.containers[0] as Container;
const getEnvironment = (name: Good): Record<string, string> =>
  Object.fromEntries(getContainer(name).env.map(({ name, value }) => [name, value]));
const findVolume = (name: Good, volume: string) =>
  (getPod(name).spec.volumes as { name: string; projected?: { sources: object[] } }[]).find(
    (one) => one.name === volume,
  );

type Labels = Readonly<Record<string, string>>;

const matches = (labels: Labels, selector: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

/** Kinds that operators define: Kubernetes has no schemas for them. */
const customKinds = ["ScaledObject", "ServiceMonitor", "TriggerAuthentication"];

describe("the Helm chart", () => {
  it("passes the strict linter", () => {
    assert.equal(chart.complaints, "");
  });

  for (const release of kubernetesVersions)
    it(`renders valid manifests for Kubernetes ${release}`, async () => {
      const findFaults = await createManifestCheck(release);
      for (const name of goodNames)
        for (const manifest of getManifests(name).filter(({ kind }) => !customKinds.includes(kind)))
          assert.deepEqual(findFaults(manifest), [], `${manifest.kind} of ${name}`);
    });

  it("renders the selected kinds only", () => {
    const always = ["Deployment", "Service"];
    assert.deepEqual(listKinds("minimal"), [...always, "PodDisruptionBudget", "ServiceAccount"].toSorted());
    assert.deepEqual(listKinds("busy"), [...always, "HorizontalPodAutoscaler"].toSorted());
    assert.deepEqual(
      listKinds("existing"),
      [
        ...always,
        "PodDisruptionBudget",
        "ScaledObject",
        "ServiceAccount",
        "TriggerAuthentication",
      ].toSorted(),
    );
    const options = ["Ingress", "NetworkPolicy", "Secret", "ServiceMonitor"];
    assert.deepEqual(listKinds("everything"), [...listKinds("existing"), ...options].toSorted());
  });

  for (const [name, { reason }] of Object.entries(bad))
    it(`rejects ${name}`, () => {
      const rendered = chart.rendered.get(name);
      assert.match(rendered?.rejection ?? "", reason);
      assert.deepEqual(rendered?.manifests, []);
    });

  it("has the schema of values that `npm run docs` writes", () => {
    assert.deepEqual(
      JSON.parse(readChartFile("values.schema.json")),
      JSON.parse(JSON.stringify(chartValuesSchema())),
    );
  });

  it("has the version of the service, and a README that explains each value", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    assert.equal(parse(readChartFile("Chart.yaml")).appVersion, version);
    const readme = readChartFile("README.md");
    const unexplained = listPaths(parse(readChartFile("values.yaml"))).filter(
      (path) => !readme.includes(`\`${path}\``),
    );
    assert.deepEqual(unexplained, []);
  });
});

/**
 * Returns the paths of the values, such as `image.tag`. A value that is passed to Kubernetes as it is counts
 * as one.
 */
function listPaths(values: Record<string, unknown>, before = ""): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const path = `${before}${name}`;
    const whole = typeof value !== "object" || value === null || Array.isArray(value);
    if (whole || Object.keys(value).length === 0 || /^(resources|.*ecurityContext)$/.test(path))
      return [path];
    return listPaths(value as Record<string, unknown>, `${path}.`);
  });
}

describe("an upgrade", () => {
  /** Returns the lines of a manifest that differ, as `diff` prints them. */
  const diff = (before: Manifest, after: Manifest): string[] => {
    const lines = (manifest: Manifest) => stringify(manifest).split("\n");
    const [old, young] = [lines(before), lines(after)];
    return [
      ...old.filter((line) => !young.includes(line)).map((line) => `< ${line.trim()}`),
      ...young.filter((line) => !old.includes(line)).map((line) => `> ${line.trim()}`),
    ];
  };

  it("changes only the changed values and the version label", () => {
    const after = chart.rendered.get("upgraded")?.manifests ?? [];
    const before = getManifests("minimal");
    assert.deepEqual(
      after.map(({ kind, metadata }) => [kind, metadata.name]),
      before.map(({ kind, metadata }) => [kind, metadata.name]),
    );
    const label = (version: string) => `app.kubernetes.io/version: ${version}`;
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    for (const [index, manifest] of before.entries()) {
      const changed = diff(manifest, after[index] ?? manifest);
      const expected = [`< ${label(version)}`, `> ${label("9.9.9")}`];
      if (manifest.kind === "Deployment")
        expected.push(
          ...[`< image: topicsync:${version}`, "> image: topicsync:9.9.9"],
          ...["> - name: LOG_LEVEL", "> value: debug"],
        );
      assert.deepEqual(changed.toSorted(), expected.toSorted(), manifest.kind);
    }
  });
});

for (const name of goodNames)
  describe(`the chart with the values "${name}"`, () => {
    it("has selectors that match its pods, and valid references", () => {
      const deployment = getManifest(name, "Deployment");
      const { labels } = getPod(name).metadata;
      const service = getManifest(name, "Service");
      assert.ok(matches(labels, deployment.spec.selector.matchLabels));
      assert.ok(matches(labels, service.spec.selector));
      for (const { kind, spec } of getManifests(name)) {
        if (kind === "PodDisruptionBudget") assert.ok(matches(labels, spec.selector.matchLabels));
        if (kind === "NetworkPolicy") assert.ok(matches(labels, spec.podSelector.matchLabels));
        if (kind === "ServiceMonitor") assert.ok(matches(service.metadata.labels, spec.selector.matchLabels));
        if (spec?.scaleTargetRef) assert.equal(spec.scaleTargetRef.name, deployment.metadata.name);
        if (kind === "Ingress")
          for (const { backend } of spec.rules[0].http.paths)
            assert.deepEqual(backend.service, { name: service.metadata.name, port: { name: "http" } });
      }
      for (const { labelSelector } of getPod(name).spec.topologySpreadConstraints)
        if (labelSelector) assert.ok(matches(labels, labelSelector.matchLabels));
      assert.deepEqual(
        getManifests(name).map(({ metadata }) => metadata.namespace),
        getManifests(name).map(() => "messaging"),
      );
    });

    it("restricts the privileges of its pods", () => {
      const { spec } = getPod(name);
      assert.equal(spec.automountServiceAccountToken, false);
      assert.equal(spec.securityContext.runAsNonRoot, true);
      assert.ok(spec.securityContext.runAsUser > 0);
      assert.deepEqual(spec.securityContext.seccompProfile, { type: "RuntimeDefault" });
      assert.deepEqual(getContainer(name).securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      assert.ok(getContainer(name).resources.requests.memory && getContainer(name).resources.limits.memory);
    });

    it("has three probes on the port of the service, and enough time to stop", () => {
      const { startupProbe, livenessProbe, readinessProbe, ports, lifecycle } = getContainer(name);
      const scheme = name === "everything" ? "HTTPS" : "HTTP";
      for (const [probe, path] of [
        [startupProbe, "/healthz"],
        [livenessProbe, "/healthz"],
        [readinessProbe, "/readyz"],
      ])
        assert.deepEqual(probe.httpGet, { path, port: "http", scheme });
      assert.deepEqual(ports, [
        { name: "http", containerPort: Number(getEnvironment(name)["HTTP_PORT"]), protocol: "TCP" },
      ]);
      assert.equal(getEnvironment(name)["HTTP_HOST"], "0.0.0.0");
      // Draining HTTP connections may take ten seconds.
      assert.ok(
        getPod(name).spec.terminationGracePeriodSeconds >= Number(lifecycle.preStop.sleep.seconds) + 30,
      );
    });

    it("sets only valid settings of the service", () => {
      const environment = getEnvironment(name);
      const files = secretSettings.map((secret) => `${secret}_FILE`);
      const known = [...Object.keys(settingsSchema.properties), ...files, "NODE_EXTRA_CA_CERTS"];
      assert.deepEqual(
        Object.keys(environment).filter((variable) => !known.includes(variable)),
        [],
      );
      // The files exist in the pod only.
      const open = Object.entries(environment).filter(([, value]) => !value.startsWith("/"));
      const secrets = Object.entries(plainSecrets).filter(
        ([secret]) => environment[`${secret}_FILE`] !== undefined,
      );
      const config = readConfig({
        ...Object.fromEntries(open),
        ...Object.fromEntries(secrets),
      });
      assert.deepEqual(config.kafka.brokers, ["kafka-0:9092", "kafka-1:9092"]);
    });

    it("mounts every file that its settings name, and keeps secrets out of all other manifests", () => {
      const mounts = getContainer(name).volumeMounts;
      for (const mount of mounts) assert.ok(findVolume(name, mount.name) !== undefined, mount.name);
      for (const [variable, value] of Object.entries(getEnvironment(name)))
        if (value.startsWith("/")) {
          const mount = mounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
          assert.ok(mount !== undefined, `${variable} is mounted`);
        }
      const rest = getManifests(name).filter(({ kind }) => kind !== "Secret");
      for (const secret of Object.values(plainSecrets))
        assert.ok(!JSON.stringify(rest).includes(secret), "a manifest contains a secret");
      // Weak secrets can be guessed from an unsalted digest. That of an image is public.
      assert.doesNotMatch(JSON.stringify(rest), /(?<!sha256:)[0-9a-f]{64}/, "a manifest contains a digest");
    });
  });

describe("the values of the chart", () => {
  it("reach the service unchanged, including numbers and lists", () => {
    const { HTTP_MAX_CONNECTIONS, HTTP_TRUSTED_PROXIES, KAFKA_TLS, HTTP_TLS_CERT, KAFKA_TLS_CERT } =
      getEnvironment("everything");
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

  it("create a Secret, or mount existing ones under the names of the settings", () => {
    const { stringData, metadata } = getManifest("everything", "Secret");
    assert.deepEqual(stringData, plainSecrets);
    const getSources = (name: Good) => findVolume(name, "secrets")?.projected?.sources;
    assert.deepEqual(getSources("everything"), [{ secret: { name: metadata.name } }]);
    assert.deepEqual(getSources("existing"), [
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

  it("let KEDA read the lag of the service's groups, with the service's connection settings", () => {
    const shared = { offsetResetPolicy: "earliest", allowIdleConsumers: "false", lagThreshold: "5000" };
    const bootstrapServers = "kafka-0:9092,kafka-1:9092";
    const secured = { sasl: "scram_sha512", tls: "enable" };
    const authenticationRef = { name: "events-topicsync" };
    const trigger = (consumerGroup: string, topic: string) => ({
      type: "kafka",
      metadata: { bootstrapServers, consumerGroup, topic, ...shared, ...secured },
      authenticationRef,
    });
    assert.deepEqual(getManifest("existing", "ScaledObject").spec.triggers, [
      trigger("mobile", "topicsync.announcements"),
      trigger("alarms-router", "alarms"),
    ]);
    assert.deepEqual(getManifest("everything", "ScaledObject").spec.triggers, [
      trigger("topicsync", "topicsync.announcements"),
      trigger("topicsync.push-feedback", "push.feedback"),
      trigger("topicsync.router", "events"),
    ]);
    const username = { parameter: "username", name: "KAFKA_SASL_USERNAME", containerName: "topicsync" };
    assert.deepEqual(getManifest("existing", "TriggerAuthentication").spec, {
      env: [username],
      secretTargetRef: [{ parameter: "password", name: "kafka-user", key: "password" }],
    });
    assert.deepEqual(getManifest("everything", "TriggerAuthentication").spec, {
      env: [username],
      secretTargetRef: [
        { parameter: "password", name: "events-topicsync", key: "KAFKA_SASL_PASSWORD" },
        { parameter: "ca", name: "kafka-tls", key: "ca.crt" },
        { parameter: "cert", name: "kafka-tls", key: "tls.crt" },
        { parameter: "key", name: "kafka-tls", key: "tls.key" },
      ],
    });
    for (const name of ["existing", "everything", "busy"] as const)
      assert.equal(
        getManifest(name, "Deployment").spec.replicas,
        undefined,
        "the autoscaler sets the number",
      );
  });

  it("let Prometheus and the Ingress controller use the scheme that is served", () => {
    assert.deepEqual(getManifest("everything", "ServiceMonitor").spec.endpoints, [
      {
        port: "http",
        path: "/metrics",
        scheme: "https",
        interval: "30s",
        scrapeTimeout: "10s",
        tlsConfig: { serverName: "topicsync" },
      },
    ]);
    assert.equal(getManifest("everything", "Service").spec.ports[0].appProtocol, "https");
    const paths = getManifest("everything", "Ingress").spec.rules[0].http.paths;
    assert.ok(!paths.some(({ path }: { path: string }) => "/metrics".startsWith(path)));
  });
});
