/** What the values of the chart do. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { parse } from "yaml";

import { root } from "../docs/pages.ts";
import { good, plainSecrets } from "./chart-values.ts";
import { renderChart } from "./helm/render.ts";
import { matches, viewChart, type Container, type Good, type Pod } from "./helm/views.ts";

const { getServices, getManifest, getPod, getContainer, getEnvironment, getVolumes } = viewChart(
  await renderChart(good, "Acme-Corp"),
);
const getSources = (name: Good, volume: string) =>
  getVolumes(name).find((one) => one.name === volume)?.projected?.sources;
/** A source of a projected volume: one key of a Secret, as a file of this name. */
const toSource = (secret: string, key: string, path: string) => ({
  secret: { name: secret, items: [{ key, path }] },
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

  it("mount the passphrase of Kafka's key and the secret of its OAuth client", () => {
    assert.deepEqual(getSources("oauth", "secrets"), [
      toSource("kafka-oauth", "secret", "KAFKA_OAUTH_CLIENT_SECRET"),
      toSource("kafka-user", "passphrase", "KAFKA_TLS_KEY_PASSPHRASE"),
      toSource("topicsync-mongodb", "connectionString.standardSrv", "MONGODB_URI"),
    ]);
    const { KAFKA_OAUTH_CLIENT_SECRET_FILE, KAFKA_TLS_KEY_PASSPHRASE_FILE, KAFKA_TLS_KEY } =
      getEnvironment("oauth");
    assert.deepEqual(
      [KAFKA_OAUTH_CLIENT_SECRET_FILE, KAFKA_TLS_KEY_PASSPHRASE_FILE, KAFKA_TLS_KEY],
      [
        "/run/topicsync/secrets/KAFKA_OAUTH_CLIENT_SECRET",
        "/run/topicsync/secrets/KAFKA_TLS_KEY_PASSPHRASE",
        "/run/topicsync/kafka-tls/tls.key",
      ],
    );
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
    const { env, image } = getContainer("everything");
    assert.deepEqual([container.env, container["image"]], [env, image]);
    assert.deepEqual(pod.spec.volumes, getPod("everything").spec.volumes);
    for (const service of getServices("everything"))
      assert.ok(!matches(pod.metadata.labels, service.spec.selector));
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
    const [, management] = getServices("everything");
    const job = `up{job="${management?.metadata.name ?? ""}",namespace="messaging"}`;
    assert.equal(down?.expr, `max by (job, namespace) (${job}) == 0 or absent(${job})`);
    assert.ok(!JSON.stringify(rules).includes("job=~"));
    assert.equal(
      down.annotations["runbook_url"],
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
    const [, management] = getServices("everything");
    assert.equal(management?.spec.clusterIP, "None");
    assert.deepEqual(
      getManifest("everything", "Service").spec.ports.map(({ name }: { name: string }) => name),
      ["http"],
    );
    const ingress = (name: Good) =>
      (
        getManifest(name, "NetworkPolicy").spec.ingress as { ports: { port: string }[]; from?: object[] }[]
      ).map(({ ports, from }) => [ports[0]?.port, JSON.stringify(from ?? []).includes("monitoring")]);
    assert.deepEqual(ingress("everything"), [
      ["http", false],
      ["management", true],
    ]);
    assert.deepEqual(ingress("together"), [["http", false]]);
    assert.equal(getServices("together").length, 1);
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
