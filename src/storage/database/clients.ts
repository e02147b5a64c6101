import { MongoClient, type ClientSession, type Collection, type Document } from "mongodb";

import { ConfigurationError, getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { repeat, schedule, type Cancel } from "@topicsync/lib/platform";
import { readSecretFile } from "@topicsync/lib/secret";
import { createConnection, type Connection } from "./connection.ts";
import { clientOptions, listTlsFiles, readTlsFiles, removeFixedOptions } from "./client-options.ts";
import type { CollectionName } from "../names.ts";

/** A connection string, and the file that it was read from, which may be replaced. */
export interface UriSource {
  readonly uri: string;
  readonly file: string | undefined;
}

const pollIntervalMs = 5_000;
/** What began with a replaced client is finished with it: operations, transactions and lists. */
const graceMs = 60_000;

/**
 * The client of MongoDB. The driver reads credentials and certificates once, so a client is replaced by a new
 * one when these files change and the new one has connected; see docs/decisions/025-rotation.md.
 *
 * Invariant: an operation in a session uses the client of that session, and others use the current one.
 */
export class Clients {
  readonly #log: Logger;
  readonly #listeners = new Set<() => void>();
  readonly #owners = new WeakMap<ClientSession, Connection>();
  /** Replaced ones, with what ends their grace. */
  readonly #retired = new Map<Connection, Cancel>();
  #current: Connection;
  /** Undefined if there is nothing to follow. */
  #stopFollowing: Cancel | undefined;
  #isClosed = false;

  constructor(client: MongoClient, log: Logger) {
    this.#log = log;
    this.#current = this.#connect(client);
  }

  get current(): Connection {
    return this.#current;
  }

  /** Returns a collection of whichever client is current. */
  collection<T extends Document>(name: CollectionName): Collection<T> {
    const first = this.#current.db.collection<T>(name);
    if (this.#stopFollowing === undefined) return first;
    return new Proxy(first, {
      get: (_, member) => {
        const value: unknown = Reflect.get(this.#current.getCollection(name), member);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown =>
          Reflect.apply(value, this.#find(args).getCollection(name), args);
      },
    });
  }

  startSession(): ClientSession {
    const session = this.#current.client.startSession();
    this.#owners.set(session, this.#current);
    return session;
  }

  /** Whether a session belongs to the current client, so that a transaction may begin in it. */
  isCurrent(session: ClientSession): boolean {
    const owner = this.#owners.get(session);
    return owner === undefined || owner === this.#current;
  }

  onElection(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Replaces the client when the files change. Call it before `collection`. Throws ConfigurationError. */
  follow(source: UriSource): void {
    let content: string;
    try {
      content = findContent(source).all;
    } catch (error) {
      throw new ConfigurationError(`MONGODB_URI: ${getErrorMessage(error)}`, { cause: error });
    }
    let lastFault: string | undefined;
    let isTrying = false;
    const look = async (): Promise<void> => {
      if (isTrying) return;
      isTrying = true;
      try {
        const found = findContent(source);
        if (found.all !== content) {
          await this.#replace(found.uri);
          content = found.all;
          this.#log.info("mongodb connection replaced, its files have changed");
        }
        lastFault = undefined;
      } catch (error) {
        const reason = getErrorMessage(error);
        if (reason !== lastFault)
          this.#log.warn(
            { reason },
            "changed files of MONGODB_URI cannot be used, keeping the old connection",
          );
        lastFault = reason;
      } finally {
        isTrying = false;
      }
    };
    this.#stopFollowing = repeat(pollIntervalMs, () => void look());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopFollowing?.();
    for (const cancel of this.#retired.values()) cancel();
    const all = [this.#current, ...this.#retired.keys()];
    await Promise.all(all.map(({ client }) => client.close()));
  }

  #connect(client: MongoClient): Connection {
    return createConnection(client, () => {
      this.#callListeners();
    });
  }

  #callListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  /** The client of the session among the arguments, or else the current one. */
  #find(args: readonly unknown[]): Connection {
    for (const arg of args) {
      const { session } = (arg ?? {}) as { readonly session?: ClientSession };
      const owner = session && this.#owners.get(session);
      if (owner !== undefined) return owner;
    }
    return this.#current;
  }

  /** Throws if the new client cannot connect. */
  async #replace(uri: string): Promise<void> {
    const next = this.#connect(createClient(uri));
    const former = this.#current;
    try {
      if (next.db.databaseName !== former.db.databaseName)
        throw new ConfigurationError("another database needs a restart");
      await next.client.connect();
      next.requireWritable();
      await next.db.command({ ping: 1 });
      if (this.#isClosed) throw new UnavailableError("the connection is closed");
    } catch (error) {
      await next.client.close();
      throw error;
    }
    this.#current = next;
    const endGrace = schedule(graceMs, () => {
      this.#retired.delete(former);
      void former.client.close();
    });
    this.#retired.set(former, endGrace);
    // Change streams of the former client must end before it is closed.
    former.stop();
    this.#callListeners();
  }
}

/** Throws ConfigurationError for a URI that the driver rejects. */
export function createClient(uri: string): MongoClient {
  try {
    return new MongoClient(removeFixedOptions(uri).uri, clientOptions);
  } catch (error) {
    throw new ConfigurationError(`MONGODB_URI cannot be used: ${getErrorMessage(error)}`, { cause: error });
  }
}

/** Whether there is a file that may change. */
export const canRotate = ({ uri, file }: UriSource): boolean =>
  file !== undefined || listTlsFiles(uri).length > 0;

/** The current URI, and everything that a connection depends on. */
function findContent({ uri, file }: UriSource): { readonly uri: string; readonly all: string } {
  const current = file === undefined ? uri : readSecretFile(file);
  return { uri: current, all: [current, ...readTlsFiles(current)].join("\n") };
}
