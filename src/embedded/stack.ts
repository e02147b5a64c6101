/**
 * What topicsync runs on when nobody names a broker or a store: a Kafka and a MongoDB-protocol store that it
 * starts itself. Every way of having one (a container, a local process) is a `Launcher` behind this interface.
 */

/** A running broker or store. */
export interface Running {
  /** What it is, for people: `Apache Kafka 4.3.1 (process)`. */
  readonly description: string;
  /** A MongoDB URI without a database, or a `host:port` list of brokers. */
  readonly address: string;
  /** The process id of the server itself, where it is a local process. */
  readonly pid?: number;
  /** Ends it and waits for the end. Its data stay where they are. Calling it again does nothing. */
  stop(): Promise<void>;
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<string>;
  /** Removes, after a stop, the data that lie outside of the data folder: a container's volume. Absent where there are none. */
  readonly removeData?: () => Promise<void>;
}

/** A running broker, with the command line tools that came with it. */
export interface RunningBroker extends Running {
  /**
   * Runs one of Kafka's own tools beside the broker and gives what it printed on standard output. The address under
   * which the tool reaches the broker is put in front of `args` as `--bootstrap-server`. Throws when it exits non-zero.
   */
  runTool(
    name: "kafka-console-producer" | "kafka-topics",
    args: readonly string[],
    input: Uint8Array,
  ): Promise<string>;
}

export interface LaunchOptions {
  /** An absolute folder for the data, kept between starts; a container derives its volume's name from it. */
  readonly dataFolder: string;
  /** A port of 127.0.0.1 to serve on; a free one is taken when it is absent. */
  readonly port?: number;
  /** An absolute folder where downloads are kept between runs. */
  readonly toolsFolder: string;
  readonly report: Report;
}

/** Tells a person what is going on: one call a step, with the share that is done when it is known (0 to 1). */
export type Report = (step: string, done?: number) => void;

/** One way of having a broker or a store. */
export interface Launcher<R extends Running = Running> {
  /** A short name: `apache/kafka container`, `mongod`, `SecantusDB`. */
  readonly name: string;
  /** Why it cannot be used on this machine, in words that say how to mend it; undefined when it can. */
  findMissing(): Promise<string | undefined>;
  /** Starts it, downloading what it needs first. Throws an Error with the server's last output when it does not come up. */
  start(options: LaunchOptions): Promise<R>;
}
