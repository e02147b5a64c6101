/** The part of the driver's interface that the product uses, over a simulated network. */
import { WriteConcern, type MongoClient, type WriteConcernSettings } from "mongodb";

import { isMajority, SimulatedCollection, toWriteErrors } from "./collection.ts";
import type { Statement } from "./commands.ts";
import { MongoConnection, type ConnectionOptions, type TopologyEvent } from "./connection.ts";
import { copy, formatValue, type Document, type Filter } from "./documents.ts";
import { createNotPrimaryError } from "./errors.ts";
import { createSession, type Session } from "./session.ts";

interface UpdateCommand {
  readonly update: string;
  readonly updates: readonly { q: Filter; u: Document; upsert?: boolean; multi?: boolean }[];
  readonly maxTimeMS?: number;
  readonly writeConcern?: object;
}

interface InsertCommand {
  readonly insert: string;
  readonly documents: readonly Document[];
  readonly maxTimeMS?: number;
  readonly writeConcern?: object;
}

interface CreateIndexesCommand {
  readonly createIndexes: string;
  readonly indexes: Parameters<SimulatedCollection["createIndexes"]>[0];
}

interface ClientOptions extends ConnectionOptions {
  readonly writeConcern: WriteConcernSettings;
}

/** Creates the client of a host. */
export function createMongoClient(options: ClientOptions): MongoClient {
  const { host } = options;
  const { isReplicaSet } = options.server.options;
  const writeConcern = WriteConcern.fromOptions({ writeConcern: options.writeConcern });
  const connection = new MongoConnection(options);

  async function update(command: UpdateCommand) {
    const statements = copy(command.updates).map(({ q, u, upsert = false, multi = false }): Statement => ({
      kind: "update",
      filter: q,
      update: u,
      upsert,
      multi,
    }));
    const result = await connection.send(
      (primary) =>
        primary.write({
          client: host,
          collection: command.update,
          statements,
          ordered: false,
          maxTimeMs: command.maxTimeMS,
          // The driver adds none to a command.
          awaitsMajority: isMajority(command.writeConcern),
        }),
      "plain",
    );
    return { writeErrors: toWriteErrors(result) };
  }

  async function insert(command: InsertCommand, session: Session | undefined) {
    const transaction = session?.use();
    const result = await connection.send(
      (primary) =>
        primary.write({
          client: host,
          collection: command.insert,
          statements: copy(command.documents).map((document) => ({ kind: "insert", document })),
          ordered: true,
          maxTimeMs: command.maxTimeMS,
          awaitsMajority: isMajority(command.writeConcern),
          transaction,
        }),
      transaction === undefined ? "plain" : "in transaction",
    );
    return { writeErrors: toWriteErrors(result) };
  }

  const ping = (): Promise<void> =>
    connection.send((primary) => {
      if (!primary.isUp()) throw createNotPrimaryError();
    }, "plain");

  const open = (name: string): SimulatedCollection =>
    new SimulatedCollection({ name, host, connection, isReplicaSet, writeConcern });

  const db = {
    collection: open,
    createCollection: () => Promise.resolve(),
    command: (
      command:
        | UpdateCommand
        | InsertCommand
        | CreateIndexesCommand
        | { readonly findAndModify: string }
        | { readonly ping: 1 },
      { session }: { readonly session?: Session } = {},
    ) => {
      if ("insert" in command) return insert(command, session);
      // The product tries whether it is executed once.
      if ("findAndModify" in command) return Promise.resolve({ value: { count: 1 } });
      if ("createIndexes" in command)
        return open(command.createIndexes)
          .createIndexes(command.indexes)
          .then(() => ({}));
      return "ping" in command ? ping() : update(command);
    },
    admin: () => ({
      command: ({ killSessions }: { readonly killSessions: readonly { readonly id: unknown }[] }) =>
        connection.send((primary) => {
          primary.killSessions(killSessions.map(({ id }) => formatValue(id)));
        }, "plain"),
    }),
  };

  const client = {
    /** There is no pool, so its events never happen. */
    on(event: string, listener: (event: TopologyEvent) => void) {
      if (event === "topologyDescriptionChanged") connection.onTopology(listener);
      return client;
    },
    options: { maxPoolSize: 100, retryWrites: true },
    db: () => db,
    connect: () => connection.send(() => undefined, "plain"),
    close: () => Promise.resolve(),
    startSession: () => createClientSession(connection, isMajority(writeConcern)),
  };
  return client as unknown as MongoClient;
}

const createClientSession = (connection: MongoConnection, awaitsMajority: boolean): Session =>
  createSession({
    commit: (transaction) =>
      connection.send((primary) => primary.commit(transaction, awaitsMajority), "retryable write"),
    abort: (transaction) =>
      connection.send((primary) => {
        primary.abort(transaction);
      }, "retryable write"),
  });
