/**
 * The layout's import rule: imports flow one way, from what is wired to what is pure. See ARCHITECTURE.md.
 * @type {import("dependency-cruiser").IConfiguration}
 */
export default {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "schemas-stand-alone",
      comment: "schemas describe messages; they import nothing of ours.",
      severity: "error",
      from: { path: "^schemas/" },
      to: { path: "^(src|http|consumers)/" },
    },
    {
      name: "domain-is-pure",
      comment: "the folders of the domain, which are all others of src, know no store, broker or transport.",
      severity: "error",
      from: {
        path: "^src/(?!(app|cli|storage|kafka|embedded|tracing|lib)/)[^/]+/",
      },
      to: {
        path: "^(http|consumers|src/(storage|kafka|embedded|app|cli)/|src/(config|kafka-config|cli)\\.ts)|node_modules/(mongodb|kafkajs|express)/",
      },
    },
    {
      name: "picker-is-a-library",
      comment: "importers of topicsync/picker get nothing else of ours, and no package but re2js.",
      severity: "error",
      from: { path: "^src/matching/(filter|picker)/" },
      to: { pathNot: "^src/matching/(filter|picker)/|^src/lib/(errors|invariant)\\.ts$|node_modules/re2js/" },
    },
    {
      name: "edges-get-what-they-need",
      comment: "http and consumers are given their stores and never import storage, kafka or each other.",
      severity: "error",
      from: { path: "^(http|consumers)/" },
      to: { path: "^src/(storage|kafka|embedded|app|cli)/|^src/cli\\.ts|node_modules/(mongodb|kafkajs)/" },
    },
    {
      name: "console-knows-schemas-and-filters-only",
      comment: "code in a browser uses only the shapes of messages and the filter language of the server.",
      severity: "error",
      from: { path: "^console/src/" },
      to: { path: "^(src|http|consumers)/", pathNot: "^src/matching/filter/" },
    },
    { name: "http-not-consumers", severity: "error", from: { path: "^http/" }, to: { path: "^consumers/" } },
    {
      name: "consumers-not-http",
      severity: "error",
      from: { path: "^consumers/" },
      to: { path: "^http/|express/" },
    },
    {
      name: "only-wiring-imports-edges",
      severity: "error",
      from: {
        path: "^src/",
        pathNot: "^src/service/.*\\.ts$",
      },
      to: { path: "^(http|consumers)/" },
    },
    {
      name: "one-composition-root",
      comment: "services.ts creates the stores, for the service and for the commands.",
      severity: "error",
      from: { path: "^src/(app|cli)/", pathNot: "^src/service/services\\.ts$" },
      to: { path: "^src/storage/", pathNot: "^src/storage/(database|client-options)\\.ts$" },
    },
    {
      name: "one-importer-of-kafkajs",
      severity: "error",
      from: { path: "^(src|http|consumers)/", pathNot: "^src/kafka/" },
      to: { path: "node_modules/kafkajs/" },
    },
    {
      name: "one-importer-of-mongodb",
      severity: "error",
      from: { path: "^(src|http|consumers)/", pathNot: "^src/(storage|embedded)/" },
      to: { path: "node_modules/mongodb/" },
    },
    {
      name: "one-importer-of-opentelemetry",
      comment: "it is loaded only if traces are on.",
      severity: "error",
      from: { path: "^(src|http|consumers)/", pathNot: "^src/tracing/opentelemetry\\.ts$" },
      to: { path: "node_modules/@opentelemetry/" },
    },
    {
      name: "one-importer-of-openid-client",
      comment: "it is loaded only if signing in with OpenID, or tokens for Kafka, are configured.",
      severity: "error",
      from: { path: "^(src|http|consumers)/", pathNot: "^src/(users/openid-provider|kafka/tokens)\\.ts$" },
      to: { path: "node_modules/openid-client/" },
    },
    {
      name: "product-not-tests",
      severity: "error",
      from: { path: "^(src|http|consumers|schemas)/" },
      to: { path: "^(test|bench|demo)/" },
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
        path: "^(src|http|consumers|schemas|test|bench|demo)/",
        pathNot: "^test/simulated-servers/(?!conformance/)|^src/lib/platform\\.ts$|^src/kafka/sockets\\.ts$",
      },
    },
    {
      name: "conformance-uses-clients-and-errors",
      comment: "scenes talk to both kinds of servers by the product's clients, and read errors as it does.",
      severity: "error",
      from: { path: "^test/simulated-servers/conformance/" },
      to: {
        path: "^(src|http|consumers|schemas|test|bench|demo)/",
        pathNot:
          "^test/(simulated-servers|support)/|^test/unit/embedded/local\\.ts$|^src/(kafka|storage|lib)/|^src/config\\.ts$|^src/embedded/kafka-java\\.ts$|^src/(sync/records|routing/transactions)\\.ts$",
      },
    },
    { name: "no-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "no-orphans",
      severity: "error",
      from: { orphan: true, path: "^(src|http|consumers|schemas)/" },
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
