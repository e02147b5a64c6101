import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";

import { MongoClient, type MongoClientOptions } from "mongodb";

import { getErrorMessage } from "@topicsync/lib/errors";
import { parseCertificates } from "@topicsync/lib/tls";

/** A command without a response after this time fails and closes its connection. */
export const socketTimeoutMs = 15_000;

/**
 * The time limit of every write outside transactions. A statement on a record or unique key of an open
 * transaction waits on the server until the transaction ends. Shorter than the driver's timeout, so that no
 * abandoned command keeps running.
 */
export const maxUpdateMs = 10_000;

/** The time limit of a page that people list. Shorter than the driver's timeout, like that of writes. */
export const maxListMs = 10_000;

/** Only the primary has the latest state. Acknowledged writes survive a crash and the loss of a member. */
export const clientOptions = {
  appName: "topicsync",
  readPreference: "primary",
  readConcernLevel: "local",
  writeConcern: { w: "majority", journal: true, wtimeoutMS: 10_000 },
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 5_000,
  socketTimeoutMS: socketTimeoutMs,
  waitQueueTimeoutMS: 5_000,
  ignoreUndefined: true,
} as const satisfies MongoClientOptions;

/** In a URI, these would override parts of `writeConcern`, or contradict `readPreference: "primary"`. */
const fixedOptions = new Set([
  "readpreference",
  "readpreferencetags",
  "maxstalenessseconds",
  "readconcernlevel",
  "w",
  "j",
  "journal",
  "wtimeout",
  "wtimeoutms",
]);

/** Removes the options that topicsync sets itself from a connection string, and returns their names. */
export function removeFixedOptions(uri: string): {
  readonly uri: string;
  readonly ignored: readonly string[];
} {
  const [address = "", query = ""] = uri.split("?", 2);
  const getName = (option: string): string => option.split("=", 1)[0] ?? "";
  const options = query.split("&").filter((option) => option !== "");
  const kept = options.filter((option) => !fixedOptions.has(getName(option).toLowerCase()));
  return {
    uri: kept.length === 0 ? address : `${address}?${kept.join("&")}`,
    ignored: options.filter((option) => !kept.includes(option)).map(getName),
  };
}

/** Whether a client of this URI logs in without TLS, or without verifying the server's certificate. */
export function sendsUnprotectedCredentials(uri: string): boolean {
  const { credentials, tls, rejectUnauthorized } = new MongoClient(uri).options;
  return credentials !== undefined && (!tls || rejectUnauthorized === false);
}

/** The files with certificates and keys that a connection string names, each with its option. */
export function listTlsFiles(uri: string) {
  const { tlsCAFile, tlsCertificateKeyFile, tlsCRLFile } = new MongoClient(uri).options;
  return Object.entries({ tlsCAFile, tlsCertificateKeyFile, tlsCRLFile }).flatMap(([option, file]) =>
    file === undefined ? [] : [{ option, file, isAuthority: option === "tlsCAFile" }],
  );
}

/** Reads and checks the files that `listTlsFiles` finds. Throws if one cannot be used. */
export function readTlsFiles(uri: string): string[] {
  const { passphrase } = new MongoClient(uri).options;
  return listTlsFiles(uri).map(({ option, file }) => {
    try {
      const text = readFileSync(file, "utf8");
      if (option !== "tlsCRLFile") parseCertificates(text);
      if (option === "tlsCertificateKeyFile")
        createSecureContext({ cert: text, key: text, ...(passphrase !== undefined && { passphrase }) });
      return text;
    } catch (error) {
      throw new Error(`${option} ${file}: ${getErrorMessage(error)}`, { cause: error });
    }
  });
}
