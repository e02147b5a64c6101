/** The Helm chart: rendered by Helm, checked against Kubernetes' schemas and the service's settings. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { parse, stringify } from "yaml";

import { chartCopies } from "../../../docs/chart-copies.ts";
import { chartValuesSchema } from "../../../docs/chart-values.ts";
import { secretSettings, settingsSchema } from "../../../schemas/settings.ts";
import { readConfig } from "../../../src/config/config.ts";
import { root } from "../docs/pages.ts";
import { bad, good, plainSecrets } from "./chart-values.ts";
import { chartFolder, renderChart, type Manifest } from "./helm/render.ts";
import { matches, viewChart, type Good } from "./helm/views.ts";
import { createManifestCheck, kubernetesVersions } from "./kubernetes/schemas.ts";

const goodNames = Object.keys(good) as Good[];

/** An upgrade of the minimal values: another version, and one more setting. */
const upgraded = {
  ...good.minimal,
  image: { tag: "9.9.9" },
  settings: { ...good.minimal.settings, LOG_LEVEL: "debug" },
};

const rejected = Object.entries(bad).map(([name, { values }]) => [name, values] as const);
const [chart, withoutOwner] = await Promise.all([
  renderChart({ ...good, ...Object.fromEntries(rejected), upgraded }, "Acme-Corp"),
  renderChart({ minimal: good.minimal }, "OWNER"),
]);
const { getManifests, getServices, getManifest, getPod, getContainer, getEnvironment, getVolumes } =
  viewChart(chart);
const listKinds = (name: Good): string[] =>
  getManifests(name)
    .map(({ kind }) => kind)
    .toSorted();
const readChartFile = (name: string): string => readFileSync(join(chartFolder, name), "utf8");

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
      for (const { spec } of getServices(name)) assert.ok(matches(labels, spec.selector));
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
      const texts: Readonly<Record<string, string>> = plainSecrets;
      const secrets = secretSettings
        .filter((secret) => environment[`${secret}_FILE`] !== undefined)
        // Its key exists in the pod only, too.
        .filter((secret) => secret !== "KAFKA_TLS_KEY_PASSPHRASE")
        .map((secret) => [secret, texts[secret] ?? "geheim-5"]);
      const config = readConfig({
        ...Object.fromEntries(open),
        ...Object.fromEntries(secrets),
      });
      assert.deepEqual(config.kafka.brokers, ["kafka-0:9092", "kafka-1:9092"]);
    });

    it("has files that any user can read, and no embedded broker or store", () => {
      assert.equal(getEnvironment(name)["TOPICSYNC_STACK"], "none");
      for (const { secret, projected } of getVolumes(name))
        assert.ok([secret, projected].every((source) => (source?.defaultMode ?? 0o444) === 0o444));
    });

    it("mounts every file that its settings name, and keeps secrets out of all other manifests", () => {
      const mounts = getContainer(name).volumeMounts;
      const volumes = getVolumes(name).map((volume) => volume.name);
      for (const mount of mounts) assert.ok(volumes.includes(mount.name), mount.name);
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
