import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { secretSettings, settingsSchema } from "../../../schemas/settings.ts";
import { findMisspelledSettings } from "../../../src/config/setting-faults.ts";

const find = (...variables: string[]): string[] =>
  findMisspelledSettings(Object.fromEntries(variables.map((name) => [name, "x"])));

/** Variables that machines, container engines, clusters, CI and other programs set. */
const foreign = `
  PATH HOME HOST HOSTNAME USER LOGNAME SHELL PWD TERM LANG LC_ALL TZ TMPDIR EDITOR PORT DEBUG CI LOGLEVEL_ROOT
  HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy NODE_ENV NODE_OPTIONS NODE_EXTRA_CA_CERTS
  HTTP_USER_AGENT HTTP_COOKIE HTTP_REFERER HTTP_ACCEPT HTTPS SSL_CERT_FILE SSL_CERT_DIR
  npm_config_cache npm_lifecycle_event npm_package_version NVM_DIR JAVA_HOME JDK_JAVA_OPTIONS MAVEN_OPTS PYTHONPATH
  KAFKA_OPTS KAFKA_HEAP_OPTS KAFKA_JMX_OPTS KAFKA_LOG4J_OPTS KAFKA_HOME KAFKA_JVM_PERFORMANCE_OPTS KAFKA_DEBUG
  KAFKA_NODE_ID KAFKA_BROKER_ID KAFKA_PROCESS_ROLES KAFKA_LISTENERS KAFKA_ADVERTISED_LISTENERS KAFKA_LOG_DIRS
  KAFKA_CONTROLLER_QUORUM_VOTERS KAFKA_CONTROLLER_LISTENER_NAMES KAFKA_LISTENER_SECURITY_PROTOCOL_MAP
  KAFKA_INTER_BROKER_LISTENER_NAME KAFKA_AUTO_CREATE_TOPICS_ENABLE KAFKA_ZOOKEEPER_CONNECT KAFKA_VERSION
  KAFKA_BOOTSTRAP_SERVERS KAFKA_SECURITY_PROTOCOL KAFKA_SSL_TRUSTSTORE_LOCATION KAFKA_SASL_JAAS_CONFIG
  KAFKA_SASL_ENABLED_MECHANISMS KAFKA_CLUSTER_ID KAFKA_HOST_PORT KAFKA_TOPIC KAFKA_URL KAFKA_PORT
  KAFKA_SERVICE_HOST KAFKA_SERVICE_PORT KAFKA_SERVICE_PORT_TCP_CLIENT KAFKA_PORT_9092_TCP
  KAFKA_PORT_9092_TCP_PROTO KAFKA_PORT_9092_TCP_PORT KAFKA_PORT_9092_TCP_ADDR KAFKA_BROKERS_SERVICE_HOST
  KAFKA_BROKERS_SERVICE_PORT KAFKA_BROKERS_PORT_9092_TCP KUBERNETES_SERVICE_HOST KUBERNETES_PORT_443_TCP
  MONGODB_SERVICE_HOST MONGODB_SERVICE_PORT MONGODB_PORT MONGODB_PORT_27017_TCP MONGODB_HOST MONGODB_DATABASE
  MONGODB_USER MONGODB_USERNAME MONGODB_PASSWORD MONGODB_ROOT_PASSWORD MONGO_URL MONGODB_VERSION
  MONGO_INITDB_ROOT_USERNAME MONGO_INITDB_ROOT_PASSWORD
  AWS_REGION AWS_DEFAULT_REGION AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
  AWS_ROLE_ARN AWS_WEB_IDENTITY_TOKEN_FILE AZURE_CLIENT_ID GOOGLE_APPLICATION_CREDENTIALS
  OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_ENDPOINT OTEL_RESOURCE_ATTRIBUTES OTEL_TRACES_SAMPLER OTEL_LOG_LEVEL
  DOCKER_HOST DOCKER_TLS_VERIFY DOCKER_CERT_PATH TESTCONTAINERS_RYUK_DISABLED
  GITHUB_ACTIONS GITHUB_TOKEN GITHUB_REF_NAME RUNNER_OS RUNNER_TEMP INVOCATION_ID JOURNAL_STREAM LISTEN_FDS
  NOTIFY_SOCKET CREDENTIALS_DIRECTORY LOGS_DIRECTORY STATE_DIRECTORY MAIL LS_COLORS SSH_AUTH_SOCK XDG_RUNTIME_DIR
  TOPICSYNC_NODE_IMAGE TOPICSYNC_BASE_IMAGE TEST_KAFKA_BROKERS PUSH_URL LOG_FILE LOG_FORMAT LOG_DIR
`;

describe("a misspelled setting", () => {
  it("is a fault that names the setting, and never the value", () => {
    assert.deepEqual(find("KAFKA_BROKER"), ["KAFKA_BROKER is not a setting; did you mean KAFKA_BROKERS?"]);
    const meant = {
      MONGODB_URL: "MONGODB_URI",
      MONGDOB_URI: "MONGODB_URI",
      MONGODB_URI_FIEL: "MONGODB_URI_FILE",
      KAKFA_GROUP_ID: "KAFKA_GROUP_ID",
      HTTP_PROT: "HTTP_PORT",
      LOGLEVEL: "LOG_LEVEL",
      KAFKA_SASL_MECHANISMS: "KAFKA_SASL_MECHANISM",
      KAFKA_TLS_CERTS: "KAFKA_TLS_CERT",
      MONGO_URI: "MONGODB_URI",
      TOPICSYNC_STAK: "TOPICSYNC_STACK",
    };
    for (const [variable, name] of Object.entries(meant))
      assert.deepEqual(find(variable), [`${variable} is not a setting; did you mean ${name}?`]);
  });

  it("is found if any one or two letters differ", () => {
    const names = [
      ...Object.keys(settingsSchema.properties),
      ...secretSettings.map((name) => `${name}_FILE`),
    ];
    for (const name of names)
      for (let at = 0; at < name.length; at++) {
        const [before, letter = "", after] = [name.slice(0, at), name[at], name.slice(at + 1)];
        const changes = [
          before + after,
          `${before}9${after}`,
          `${before}${letter}9${after}`,
          `9${before}9${after}`,
        ];
        for (const changed of changes) {
          if (names.includes(changed)) continue;
          assert.equal(find(changed).length, 1, `${changed} for ${name}`);
        }
      }
  });

  it("is not a fault if it is empty, as every setting that is empty counts as unset", () => {
    assert.deepEqual(findMisspelledSettings({ KAFKA_BROKER: "", LOG_LEVLE: undefined }), []);
  });

  it("is never one of the variables of other programs", () => {
    const variables = foreign.trim().split(/\s+/);
    assert.ok(variables.length > 130, String(variables.length));
    assert.deepEqual(find(...variables), []);
  });

  it("is never Kubernetes' description of a service", () => {
    assert.deepEqual(findMisspelledSettings({ HTTPS_PORT: "tcp://10.0.0.1:443" }), []);
    assert.equal(findMisspelledSettings({ HTTPS_PORT: "443" }).length, 1);
  });

  it("is not another setting", () => {
    assert.deepEqual(find(...Object.keys(settingsSchema.properties)), []);
  });
});
