/** A Kafka broker and a MongoDB-compatible store for the demo, tests and a first try. */
export { getLastLines, isCommandMissing, runCommand } from "./command.ts";
export { resolveAddresses, resolveBroker, resolveStore } from "./embedded.ts";
export { installOnce } from "./install.ts";
export { buildClassPath, kafkaVersion, log4jVersion, mavenDependencyPlugin } from "./kafka-jars.ts";
export {
  type KafkaJava,
  buildJavaArgs,
  prepareClassArchive,
  prepareKafkaJava,
  runClass,
} from "./kafka-java.ts";
export { formatServerProperties, kafkaReadyLine, loggingProperties } from "./kafka-settings.ts";
export { type ServerCommand, type ServerProcess, startProcess, waitUntilReady } from "./process.ts";
export { ping } from "./replica-set.ts";
export { type ResolveOptions, startBroker, startStore } from "./resolve.ts";
export { installWithPip } from "./secantus-package.ts";
export type { LaunchOptions, Launcher, Running } from "./stack.ts";
export { findFreePort, localhost } from "./tcp-port.ts";
export { findJava, findPython } from "./toolchain.ts";
