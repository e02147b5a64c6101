/**
 * The embedded stack: a Kafka broker and a MongoDB-compatible store that topicsync starts if the settings
 * name none. A `Launcher` runs one of them in a container or as a local process.
 */

/** A running broker or store. */
export interface Running {
  /** For messages: `Apache Kafka 4.3.1 (process)`. */
  readonly description: string;
  /** A MongoDB URI without a database, or a `host:port` list of brokers. */
  readonly address: string;
  /** The process id of the server, if it is a local process. */
  readonly pid?: number;
  /** Stops the server and waits for its exit. Keeps the data. May be called again. */
  stop(): Promise<void>;
  /** Resolves at the exit, with a description of it. */
  readonly ended: Promise<string>;
  /**
   * Removes the data outside the data folder, a container's volume, after a stop. Absent if there is none.
   */
  readonly removeData?: () => Promise<void>;
}

export interface LaunchOptions {
  /** An absolute path, kept between starts; the name of a container's volume is derived from it. */
  readonly dataFolder: string;
  /** A port of 127.0.0.1; by default a free one. */
  readonly port?: number;
  /** An absolute path for downloads, kept between runs. */
  readonly toolsFolder: string;
  readonly report: Report;
}

/** Reports a step, and the completed share from 0 to 1 if it is known. */
export type Report = (step: string, done?: number) => void;

/** Starts a broker or a store in one particular way. */
export interface Launcher {
  /** For messages: `apache/kafka container`, `mongod process`. */
  readonly name: string;
  /** Returns what is missing on this machine and how to fix it; undefined if nothing is. */
  findMissing(): Promise<string | undefined>;
  /**
   * Downloads what is needed and starts the server. Throws an Error with its last output if it does not
   * start.
   */
  start(options: LaunchOptions): Promise<Running>;
}
