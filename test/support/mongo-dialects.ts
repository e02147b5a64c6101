import type { Document } from "mongodb";

type Command = Readonly<Document>;

/** One difference from MongoDB, for the commands that `on` selects. */
export interface DialectRule {
  readonly on: (command: Command) => boolean;
  /** The error that the client gets; the store never gets the command. */
  readonly reject?: Document;
  /** What the store gets instead of the command. */
  readonly send?: (command: Command) => Document;
  /** What the client gets instead of the store's response. */
  readonly answer?: (answer: Document, command: Command) => Document;
}

/** How a product differs from a MongoDB replica set, as far as it concerns topicsync. */
export interface Dialect {
  /** The options of its connection strings; `directConnection=true` by default. */
  readonly uriOptions?: string;
  /** Its response to the handshake. */
  readonly hello?: (hello: Document) => Document;
  readonly hasTransactions: boolean;
  readonly hasChangeStreams: boolean;
  readonly rules: readonly DialectRule[];
}

const isNamed =
  (...names: readonly string[]) =>
  (command: Command): boolean =>
    names.includes(Object.keys(command)[0] ?? "");
/** A document without these members. */
export const omit =
  (...names: readonly string[]) =>
  (document: Command): Document =>
    Object.fromEntries(Object.entries(document).filter(([name]) => !names.includes(name)));
const isAny = (): boolean => true;
const isInTransaction = (command: Command): boolean => command["autocommit"] === false;
const isRetryableWrite = (command: Command): boolean => "txnNumber" in command && !isInTransaction(command);
const opensChangeStream = ({ pipeline }: Command): boolean =>
  Array.isArray(pipeline) && pipeline.some((stage: Document) => "$changeStream" in stage);

/** Without the members of a replica set. Without a topology version the driver polls. */
const asStandalone = omit(
  "setName",
  "setVersion",
  "hosts",
  "passives",
  "arbiters",
  "primary",
  "me",
  "electionId",
  "secondary",
  "topologyVersion",
);

/** Reports a mongos, as Azure DocumentDB and the open-source gateway do. */
const asMongos = (hello: Document): Document => ({ ...asStandalone(hello), msg: "isdbgrid" });

const duplicateKey = 11000;
const parseIndexName = (message: string): string => /index: (\S+)/.exec(message)?.[1] ?? "<unknown>";

/** Changes the message of each duplicate key in the response. */
const rewordDuplicates =
  (rephrase: (message: string) => string) =>
  (answer: Document): Document => {
    if (answer["code"] === duplicateKey) return { ...answer, errmsg: rephrase(String(answer["errmsg"])) };
    if (!Array.isArray(answer["writeErrors"])) return answer;
    const writeErrors = answer["writeErrors"].map(({ index, code, errmsg }: Document) => ({
      index,
      code,
      errmsg: code === duplicateKey ? rephrase(String(errmsg)) : errmsg,
    }));
    return { ...answer, writeErrors };
  };

const hasDuplicate = (answer: Document): boolean =>
  answer["code"] === duplicateKey ||
  (Array.isArray(answer["writeErrors"]) && answer["writeErrors"].some(({ code }) => code === duplicateKey));

/**
 * The wording of the PostgreSQL extension beneath FerretDB 2, Azure DocumentDB and the open-source gateway.
 */
const postgresDuplicates: DialectRule = {
  on: isAny,
  answer: rewordDuplicates(
    (message) => `Duplicate key violation on the requested collection: Index '${parseIndexName(message)}'`,
  ),
};

/** The gateway turns it into a write conflict, at the top of the response and without the index's name. */
const conflictInTransaction: DialectRule = {
  on: isInTransaction,
  answer: (answer) =>
    hasDuplicate(answer)
      ? {
          ok: 0,
          code: 112,
          codeName: "SqlState(E23505)",
          errmsg: "Duplicate key violation on the requested collection.",
        }
      : answer,
};

/** The gateway accepts the number of a write and ignores it. */
const repeatsWrites: DialectRule = {
  on: isRetryableWrite,
  send: omit("txnNumber"),
};

const noErrorLabels: DialectRule = {
  on: isAny,
  answer: omit("errorLabels"),
};

const noChangeStreams: DialectRule = {
  on: opensChangeStream,
  reject: {
    code: 40324,
    codeName: "Location40324",
    errmsg: "Unrecognized pipeline stage name: $changeStream",
  },
};

/** The products, by their names in docs/deployment.md. */
export const dialects = {
  "Atlas M0": {
    hasTransactions: true,
    hasChangeStreams: true,
    rules: [
      {
        on: isNamed("killSessions"),
        reject: { code: 8000, codeName: "AtlasError", errmsg: "CMD_NOT_ALLOWED: killSessions" },
      },
    ],
  },

  "Azure DocumentDB": {
    // As in the connection strings of its portal.
    uriOptions: "retrywrites=false&maxIdleTimeMS=120000",
    hello: asMongos,
    hasTransactions: true,
    hasChangeStreams: true,
    rules: [
      {
        on: isNamed("killSessions"),
        reject: {
          code: 115,
          codeName: "CommandNotSupported",
          errmsg: "Command killSessions not supported",
        },
      },
      repeatsWrites,
      conflictInTransaction,
      postgresDuplicates,
      noErrorLabels,
    ],
  },

  "DocumentDB (open source)": {
    uriOptions: "retryWrites=false",
    hello: asMongos,
    hasTransactions: true,
    hasChangeStreams: false,
    rules: [
      {
        on: isNamed("killSessions"),
        reject: {
          code: 115,
          codeName: "CommandNotSupported",
          errmsg: "Unknown request received: killSessions",
        },
      },
      noChangeStreams,
      repeatsWrites,
      conflictInTransaction,
      postgresDuplicates,
      noErrorLabels,
    ],
  },

  "FerretDB 2": {
    uriOptions: "",
    hello: asStandalone,
    hasTransactions: false,
    hasChangeStreams: false,
    rules: [
      ...["commitTransaction", "abortTransaction"].map((name) => ({
        on: isNamed(name),
        reject: { code: 59, codeName: "CommandNotFound", errmsg: `no such command: '${name}'` },
      })),
      // It ignores the fields that make a command part of a transaction.
      {
        on: isInTransaction,
        send: omit("lsid", "txnNumber", "autocommit", "startTransaction"),
      },
      noChangeStreams,
      postgresDuplicates,
      noErrorLabels,
    ],
  },

  "Amazon DocumentDB": {
    // As in the connection strings of its console.
    uriOptions: "directConnection=true&readPreference=secondaryPreferred&retryWrites=false",
    hasTransactions: true,
    hasChangeStreams: false,
    rules: [
      {
        on: isRetryableWrite,
        reject: { code: 301, errmsg: "Retryable writes are not supported" },
      },
      // Off until they are enabled by `modifyChangeStreams`; the error has no code of its own.
      {
        on: opensChangeStream,
        reject: { code: 1, codeName: "InternalError", errmsg: "Change streams are not enabled" },
      },
    ],
  },

  "a sharded cluster with a member down": {
    uriOptions: "",
    hello: asMongos,
    hasTransactions: true,
    hasChangeStreams: true,
    rules: [
      {
        on: isNamed("killSessions"),
        reject: { code: 6, codeName: "HostUnreachable", errmsg: "Failed to kill on some hosts" },
      },
      {
        on: isInTransaction,
        answer: rewordDuplicates(
          (message) =>
            `Encountered error from shard0.example.org:27018 during a transaction :: caused by :: ${message}`,
        ),
      },
    ],
  },
} as const satisfies Record<string, Dialect>;
