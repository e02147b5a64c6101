/** The Helm chart: rendered by Helm, checked against Kubernetes' schemas and the service's settings. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { parse, stringify } from "yaml";

import { chartCopies } from "../../../docs/chart-copies.ts";
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
let withoutOwner: RenderedChart;

before(async () => {
  const rejected = Object.entries(bad).map(([name, { values }]) => [name, values] as const);
  [chart, withoutOwner] = await Promise.all([
    renderChart({ ...good, ...Object.fromEntries(rejected), upgraded }, "Acme-Corp"),
    renderChart({ minimal: good.minimal }, "OWNER"),
  ]);
});

const readChartFile = (name: string): string => readFileSync(join(chartFolder, name), "utf8");

function getManifests(name: Good): readonly Manifest[] {
  const rendered = chart.rendered.get(name);
  assert.ok(rendered !== undefined);
  assert.equal(rendered.rejection, "", name);
  return rendered.manifests;
}

function getManifest(name: Good, kind: string): Manifest {
  const [found, ...others] = getManifests(name).filter(
    (manifest) => manifest.kind === kind && !(kind === "Service" && manifest.spec.clusterIP === "None"),
  );
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
interface Volume {
  readonly name: string;
  readonly projected?: { readonly defaultMode: number; readonly sources: object[] };
  readonly secret?: { readonly defaultMode: number };
}

const findVolume = (name: Good, volume: string) =>
  (getPod(name).spec.volumes as Volume[]).find((one) => one.name === volume);
const getSources = (name: Good, volume: string) => findVolume(name, volume)?.projected?.sources;
/** A source of a projected volume: one key of a Secret, as a file of this name. */
const toSource = (secret: string, key: string, path: string) => ({
  secret: { name: secret, items: [{ key, path }] },
});

type Labels = Readonly<Record<string, string>>;

const matches = (labels: Labels, selector: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

/** Kinds that operators define: Kubernetes has no schemas for them. */
const customKinds = ["PrometheusRule", "ScaledObject", "ServiceMonitor", "TriggerAuthentication"];

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
    const always = ["Deployment", "Service", "Service"];
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
    const options = [
      ...["ConfigMap", "CronJob", "Ingress", "NetworkPolicy", "PrometheusRule"],
      ...["Secret", "ServiceMonitor"],
    ];
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

  it("needs no image once it has an owner, and says so before", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    assert.equal(getContainer("minimal")["image"], `ghcr.io/acme-corp/topicsync:${version}`);
    assert.match(withoutOwner.rendered.get("minimal")?.rejection ?? "", /image\.repository: give the image/);
  });

  it("installs the alerts and the dashboard of this repository", () => {
    for (const [source, copy] of chartCopies)
      assert.equal(readFileSync(copy, "utf8"), readFileSync(source, "utf8"), "run `npm run docs`");
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
    const published = "ghcr.io/acme-corp/topicsync";
    const label = (version: string) => `app.kubernetes.io/version: ${version}`;
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    for (const [index, manifest] of before.entries()) {
      const changed = diff(manifest, after[index] ?? manifest);
      const expected = [`< ${label(version)}`, `> ${label("9.9.9")}`];
      if (manifest.kind === "Deployment")
        expected.push(
          ...[`< image: ${published}:${version}`, `> image: ${published}:9.9.9`],
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
      const [, management] = getManifests(name).filter(({ kind }) => kind === "Service");
      if (management) assert.ok(matches(labels, management.spec.selector));
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
      // OpenShift's policy `restricted-v2` chooses them.
      for (const id of ["runAsUser", "runAsGroup", "fsGroup"]) assert.ok(!(id in spec.securityContext), id);
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
      const { HTTP_PORT, HTTP_HOST, MANAGEMENT_PORT } = getEnvironment(name);
      const port = name === "together" ? "http" : "management";
      const scheme = name === "everything" ? "HTTPS" : "HTTP";
      for (const [probe, path] of [
        [startupProbe, "/healthz"],
        [livenessProbe, "/healthz"],
        [readinessProbe, "/readyz"],
      ])
        assert.deepEqual(probe.httpGet, { path, port, scheme });
      const management = { name: "management", containerPort: Number(MANAGEMENT_PORT), protocol: "TCP" };
      assert.deepEqual(ports, [
        { name: "http", containerPort: Number(HTTP_PORT), protocol: "TCP" },
        ...(name === "together" ? [] : [management]),
      ]);
      assert.equal(HTTP_HOST, "::");
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
      const secrets = secretSettings.filter((secret) => environment[`${secret}_FILE`] !== undefined);
      const config = readConfig({
        ...Object.fromEntries(open),
        ...Object.fromEntries(secrets.map((secret) => [secret, plainSecrets[secret]])),
      });
      assert.deepEqual(config.kafka.brokers, ["kafka-0:9092", "kafka-1:9092"]);
    });

    it("has files that any user can read, and no embedded broker or store", () => {
      assert.equal(getEnvironment(name)["TOPICSYNC_STACK"], "none");
      for (const { secret, projected } of getPod(name).spec.volumes as Volume[])
        assert.ok([secret, projected].every((source) => (source?.defaultMode ?? 0o444) === 0o444));
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
    assert.deepEqual(getSources("everything", "secrets"), [{ secret: { name: metadata.name } }]);
    assert.deepEqual(getSources("existing", "secrets"), [
      toSource("admin", "password", "BOOTSTRAP_PASSWORD"),
      toSource("kafka-user", "password", "KAFKA_SASL_PASSWORD"),
      toSource("topicsync-mongodb", "connectionString.standardSrv", "MONGODB_URI"),
    ]);
  });

  it("take the Secrets of Strimzi as they are", () => {
    const ca = toSource("events-cluster-ca-cert", "ca.crt", "ca.crt");
    assert.deepEqual(getSources("strimziScram", "kafka-tls"), [ca]);
    assert.deepEqual(
      getSources("strimziScram", "secrets")?.[0],
      toSource("topicsync", "password", "KAFKA_SASL_PASSWORD"),
    );
    const { KAFKA_TLS, KAFKA_TLS_CA, KAFKA_TLS_CERT, ...scram } = getEnvironment("strimziScram");
    assert.deepEqual(
      [KAFKA_TLS, KAFKA_TLS_CA, KAFKA_TLS_CERT, scram["KAFKA_SASL_MECHANISM"]],
      ["true", "/run/topicsync/kafka-tls/ca.crt", undefined, "scram-sha-512"],
    );
    assert.deepEqual(getSources("strimziTls", "kafka-tls"), [
      ca,
      toSource("topicsync", "user.crt", "tls.crt"),
      toSource("topicsync", "user.key", "tls.key"),
    ]);
    assert.equal(getEnvironment("strimziTls")["KAFKA_TLS_KEY"], "/run/topicsync/kafka-tls/tls.key");
  });

  it("mount the files of MongoDB's TLS where the guide says", () => {
    assert.deepEqual(getSources("everything", "mongodb-tls"), [
      toSource("mongodb-ca", "ca.pem", "ca.crt"),
      toSource("mongodb-user", "both.pem", "tls.pem"),
    ]);
    const mount = getContainer("everything").volumeMounts.find(({ name }) => name === "mongodb-tls");
    const guide = readFileSync(join(root, "docs/deployment.md"), "utf8");
    assert.ok(mount !== undefined && guide.includes(`tlsCAFile=${mount.mountPath}/ca.crt`));
  });

  it("sweep push tokens with the settings of the service, apart from its Services", () => {
    const { spec } = getManifest("everything", "CronJob");
    const pod = spec.jobTemplate.spec.template as Pod;
    const [container] = pod.spec.containers as [Container & { args: string[] }];
    assert.deepEqual(container.args, ["installations", "sweep", "--unseen-for", "90d", "--yes"]);
    assert.deepEqual(container.env, getContainer("everything").env);
    assert.deepEqual(pod.spec.volumes, getPod("everything").spec.volumes);
    const services = getManifests("everything").filter(({ kind }) => kind === "Service");
    for (const service of services) assert.ok(!matches(pod.metadata.labels, service.spec.selector));
  });

  it("restrict the alerts to the job of the release, and link to the runbook of its version", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    const { groups } = getManifest("everything", "PrometheusRule").spec as {
      groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    const own = parse(readFileSync(join(root, "deploy/prometheus/alerts.yml"), "utf8")) as {
      groups: { rules: { alert: string }[] }[];
    };
    const names = (all: { alert: string }[]) => all.map(({ alert }) => alert);
    assert.deepEqual(names(rules), names(own.groups.flatMap((group) => group.rules)));
    const [down] = rules;
    const { metadata } = getManifests("everything").find(
      ({ kind, spec }) => kind === "Service" && spec.clusterIP === "None",
    ) ?? { metadata: undefined };
    const job = `up{job="${metadata?.name ?? ""}",namespace="messaging"}`;
    assert.equal(down?.expr, `max by (job, namespace) (${job}) == 0 or absent(${job})`);
    assert.ok(!JSON.stringify(rules).includes("job=~"));
    assert.equal(
      down?.annotations["runbook_url"],
      `https://github.com/Acme-Corp/topicsync/blob/v${version}/docs/runbook.md#topicsyncdown`,
    );
  });

  it("put the dashboard where Grafana's sidecar finds it", () => {
    const { data, metadata } = getManifest("everything", "ConfigMap");
    assert.equal(metadata.labels["grafana_dashboard"], "1");
    assert.deepEqual(
      JSON.parse(data?.["topicsync.json"] ?? ""),
      JSON.parse(readFileSync(join(root, "deploy/grafana/topicsync.json"), "utf8")),
    );
  });

  it("publish probes and metrics to the monitoring only", () => {
    const services = (name: Good) => getManifests(name).filter(({ kind }) => kind === "Service");
    const [, management] = services("everything");
    assert.equal(management?.spec.clusterIP, "None");
    assert.deepEqual(
      getManifest("everything", "Service").spec.ports.map(({ name }: { name: string }) => name),
      ["http"],
    );
    const ingress = (name: Good) =>
      (getManifest(name, "NetworkPolicy").spec.ingress as { ports: { port: string }[]; from?: object[] }[]).map(
        ({ ports, from }) => [ports[0]?.port, JSON.stringify(from ?? []).includes("monitoring")],
      );
    assert.deepEqual(ingress("everything"), [
      ["http", false],
      ["management", true],
    ]);
    assert.deepEqual(ingress("together"), [["http", false]]);
    assert.equal(services("together").length, 1);
    assert.equal(getManifest("together", "ServiceMonitor").spec.endpoints[0].port, "http");
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
        { parameter: "ca", name: "kafka-ca", key: "ca.crt" },
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
        port: "management",
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
