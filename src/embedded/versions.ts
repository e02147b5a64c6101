/** What is downloaded to run as local processes: exactly these versions, so that every machine runs the same. */
export const versions = {
  kafka: "4.3.1",
  /** Kafka logs through SLF4J; this is the version of log4j that it brings, with the bridge between the two. */
  log4j: "2.25.4",
  mavenDependencyPlugin: "3.8.1",
  secantusdb: "0.7.0b3",
} as const;
