/**
 * What a client of the simulated MongoDB knows of the primary, and how it sends commands to it. Retries as
 * the driver does: once, after a lost connection or a change of the primary.
 */
import { MongoNetworkError, MongoServerError, MongoServerSelectionError } from "mongodb";

import type { Clock, Host } from "../clock.ts";
import { ConnectionLostError, type Network } from "../network.ts";
import type { Random } from "../random.ts";
import type { Reign } from "./reign.ts";
import type { MongoServer } from "./server.ts";

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly server: MongoServer;
  readonly host: Host;
}

export interface TopologyEvent {
  readonly newDescription: { readonly servers: ReadonlyMap<string, object> };
}

/** A server labels errors of commands with a transaction number only: those of the last two kinds. */
export type CommandKind = "plain" | "read" | "retryable write" | "in transaction";

type Execute<T> = (primary: Reign) => T | Promise<T>;

const serverSelectionTimeoutMs = 5_000;
const serverSelectionPollMs = 100;
const maxMonitorDelayMs = 10_000;
/**
 * NotWritablePrimary and InterruptedDueToReplStateChange. After these the driver waits until its monitor
 * finds the primary.
 */
const stateChangeCodes = new Set<unknown>([10107, 11602]);

const isStateChange = (error: unknown): error is MongoServerError =>
  error instanceof MongoServerError && stateChangeCodes.has(error.code);

const isRetryable = (error: unknown): boolean => error instanceof MongoNetworkError || isStateChange(error);

export class MongoConnection {
  readonly #options: ConnectionOptions;
  #onTopology: (event: TopologyEvent) => void = () => undefined;
  /** The primary that this client knows of; undefined until it has connected. */
  #known: Reign | undefined;
  /** Whether the known primary has answered that it is none any more. */
  #isUnknown = true;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { clock, random, server, host } = options;
    // A monitor hears of an election soon, or with its next heartbeat.
    server.onElection((primary) => {
      const delayMs = random.between(0, random.pick([20, 20, 20, maxMonitorDelayMs]));
      clock.schedule(host, delayMs, () => {
        if (this.#known !== undefined) this.#showPrimary(primary);
      });
    });
  }

  onTopology(listener: (event: TopologyEvent) => void): void {
    this.#onTopology = listener;
  }

  async send<T>(execute: Execute<T>, kind: CommandKind): Promise<T> {
    try {
      return await this.#sendOnce(execute, kind);
    } catch (error) {
      if (kind === "plain" || kind === "in transaction" || !isRetryable(error)) throw error;
      return this.#sendOnce(execute, kind);
    }
  }

  async #sendOnce<T>(execute: Execute<T>, kind: CommandKind): Promise<T> {
    const { network, server } = this.#options;
    const primary = await this.#selectServer();
    try {
      return await network.call(server.host, () => execute(primary));
    } catch (error) {
      if (isStateChange(error)) {
        this.#suspect(primary);
        if (kind === "retryable write") error.addErrorLabel("RetryableWriteError");
        if (kind === "in transaction") error.addErrorLabel("TransientTransactionError");
      }
      if (!(error instanceof ConnectionLostError)) throw error;
      this.suspectIfDown(primary);
      const lost = new MongoNetworkError(error.message);
      if (kind === "in transaction") lost.addErrorLabel("TransientTransactionError");
      throw lost;
    }
  }

  /** Sends a command to a member, which need not be the primary any more. */
  call<T>(execute: () => T | Promise<T>): Promise<T> {
    const { network, server } = this.#options;
    return network.call(server.host, execute);
  }

  /** To be called when the connection to a member is lost. */
  suspectIfDown(member: Reign): void {
    if (!member.isUp()) this.#suspect(member);
  }

  #suspect(member: Reign): void {
    if (member === this.#known) this.#isUnknown = true;
  }

  #showPrimary(primary: Reign): void {
    if (this.#known !== undefined && primary.term < this.#known.term) return;
    this.#isUnknown = false;
    if (primary === this.#known) return;
    this.#known = primary;
    const description = this.#options.server.options.isReplicaSet
      ? { type: "RSPrimary", electionId: { toHexString: () => String(primary.term) } }
      : { type: "Standalone" };
    this.#onTopology({ newDescription: { servers: new Map([[`member ${primary.term}`, description]]) } });
  }

  async #selectServer(): Promise<Reign> {
    const { clock, server } = this.#options;
    const deadline = clock.getTime() + serverSelectionTimeoutMs;
    for (;;) {
      if (this.#known !== undefined && !this.#isUnknown) return this.#known;
      if (server.isUp()) this.#showPrimary(server.getPrimary());
      else if (clock.getTime() >= deadline)
        throw new MongoServerSelectionError("no primary is available", {} as never);
      else await this.#wait(serverSelectionPollMs);
    }
  }

  #wait(ms: number): Promise<void> {
    const { clock, host } = this.#options;
    return new Promise((resolve) => {
      clock.schedule(host, ms, () => {
        resolve();
      });
    });
  }
}
