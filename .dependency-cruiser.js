/** Each room imports only those before it. They are folders of `src`, but for seven. */
const rooms = [
  "packages/lib",
  "packages/filters",
  "packages/kafka",
  "packages/embedded",
  "schemas",
  "config",
  "users",
  "installations",
  "topics",
  "dead-letters",
  "event-types",
  "routing",
  "plans",
  "storage",
  "consumers",
  "operations",
  "http",
  "service",
  "cli",
];

const outsideSrc = new Set(["schemas", "consumers", "http"]);
/** @param {string} room */
function toPath(room) {
  if (room.startsWith("packages/")) return `^${room}/(?!test/)`;
  return outsideSrc.has(room) ? `^${room}/` : `^src/${room}(/|\\.ts$)`;
}

/**
 * The layout's import rules. See ARCHITECTURE.md.
 * @type {import("dependency-cruiser").IConfiguration}
 */
export default {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    ...rooms.slice(0, -1).map((room, index) => ({
      name: `${room.replace("packages/", "")}-knows-only-rooms-before-it`,
      comment: "see the list of rooms in ARCHITECTURE.md.",
      severity: "error",
      from: { path: toPath(room) },
      to: { path: rooms.slice(index + 1).map(toPath) },
    })),
    {
      name: "picker-is-a-library",
      comment: "importers of topicsync/picker get nothing else of ours, and no package but re2js.",
      severity: "error",
      from: { path: "^packages/filters/(?!test/)" },
      to: { pathNot: "^packages/filters/(?!test/)|^packages/lib/invariant\\.ts$|node_modules/re2js/" },
    },
    ...["filters", "kafka", "embedded"].map((name) => ({
      name: `${name}-has-a-face`,
      comment: "what others may import stands in the exports of its package.json.",
      severity: "error",
      from: { pathNot: `^packages/${name}/` },
      to: {
        path: `^packages/${name}/`,
        pathNot: `^packages/${name}/(index|client|internals|picker/index)\\.ts$|^packages/${name}/test/`,
      },
    })),
    {
      name: "internals-of-kafka-are-for-tests",
      severity: "error",
      from: { path: rooms.map(toPath) },
      to: { path: "^packages/kafka/internals\\.ts$" },
    },
    {
      name: "domain-and-edges-get-their-stores",
      comment: "only storage knows MongoDB; whoever uses a store is given it by src/service.",
      severity: "error",
      from: { path: rooms.map(toPath), pathNot: "^src/(storage|service|cli)/" },
      to: { path: "^src/storage/" },
    },
    {
      name: "domain-knows-the-interface-of-kafka-only",
      comment: "its requests belong to packages/kafka; consumers get their connections from src/service.",
      severity: "error",
      from: { path: rooms.map(toPath), pathNot: "^packages/kafka/|^src/(service|cli)/" },
      to: { path: "^packages/kafka/", pathNot: "^packages/kafka/index\\.ts$" },
    },
    {
      name: "embedded-is-for-the-service",
      comment: "the embedded broker and store serve the demo, tests and the first try.",
      severity: "error",
      from: { path: rooms.map(toPath), pathNot: "^packages/embedded/|^src/(service|cli)/" },
      to: { path: "^packages/embedded/" },
    },
    {
      name: "console-knows-schemas-and-filters-only",
      comment: "code in a browser uses only the shapes of messages and the filter language of the server.",
      severity: "error",
      from: { path: "^console/src/" },
      to: { path: "^(src|http|consumers|packages)/", pathNot: "^packages/filters/" },
    },
    {
      name: "one-composition-root",
      comment: "services.ts creates the stores, for the service and for the commands.",
      severity: "error",
      from: { path: "^src/(service|cli)/", pathNot: "^src/service/services\\.ts$" },
      to: { path: "^src/storage/", pathNot: "^src/storage/database/(database|client-options)\\.ts$" },
    },
    {
      name: "one-importer-of-kafkajs",
      severity: "error",
      from: { path: rooms.map(toPath), pathNot: "^packages/kafka/" },
      to: { path: "node_modules/kafkajs/" },
    },
    {
      name: "one-importer-of-mongodb",
      severity: "error",
      from: { path: rooms.map(toPath), pathNot: "^(src/storage|packages/embedded)/" },
      to: { path: "node_modules/mongodb/" },
    },
    {
      name: "one-importer-of-opentelemetry",
      comment: "it is loaded only if traces are on.",
      severity: "error",
      from: { path: rooms.map(toPath), pathNot: "^src/service/tracing/opentelemetry\\.ts$" },
      to: { path: "node_modules/@opentelemetry/" },
    },
    {
      name: "one-importer-of-openid-client",
      comment: "it is loaded only if signing in with OpenID, or tokens for Kafka, are configured.",
      severity: "error",
      from: { path: rooms.map(toPath), pathNot: "^(src/users/openid-provider|packages/kafka/tokens)\\.ts$" },
      to: { path: "node_modules/openid-client/" },
    },
    {
      name: "product-not-tests",
      severity: "error",
      from: { path: rooms.map(toPath) },
      to: { path: "^(test|bench|demo|packages/[^/]+/test)/" },
    },
    {
      name: "simulated-servers-have-one-face",
      severity: "error",
      from: { path: "^test/", pathNot: "^test/simulated-servers/" },
      to: { path: "^test/simulated-servers/", pathNot: "^test/simulated-servers/index\\.ts$" },
    },
    {
      name: "simulated-servers-stand-alone",
      comment: "they replace the product's time and sockets, and know nothing else of it.",
      severity: "error",
      from: { path: "^test/simulated-servers/", pathNot: "^test/simulated-servers/conformance/" },
      to: {
        path: "^(packages|src|http|consumers|schemas|test|bench|demo)/",
        pathNot:
          "^test/simulated-servers/(?!conformance/)|^packages/lib/platform\\.ts$|^packages/kafka/internals\\.ts$",
      },
    },
    {
      name: "conformance-uses-clients-and-errors",
      comment: "scenes talk to both kinds of servers by the product's clients, and read errors as it does.",
      severity: "error",
      from: { path: "^test/simulated-servers/conformance/" },
      to: {
        path: "^(src|http|consumers|schemas|test|bench|demo)/",
        pathNot: "^test/(simulated-servers|support)/|^src/storage/|^src/config/config\\.ts$",
      },
    },
    { name: "no-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "no-orphans",
      severity: "error",
      from: { orphan: true, path: rooms.map(toPath) },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "types", "default"],
    },
  },
};
