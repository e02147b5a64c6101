import type { MongoClientOptions } from "mongodb";

/** A command that MongoDB has not answered by then is given up, and with it the connection. */
export const socketTimeoutMs = 15_000;

/**
 * How the service reads, and when a write counts. Decisions need the primary's latest state; an acknowledged record survives
 * the loss of a member and a crash.
 */
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

/** What stands in a URI beats `writeConcern` in part, and does not go with `readPreference: "primary"`. */
const fixed = new Set([
  ...["readpreference", "readpreferencetags", "maxstalenessseconds", "readconcernlevel"],
  ...["w", "j", "journal", "wtimeout", "wtimeoutms"],
]);

/** The connection string without the options that topicsync decides itself, and their names. */
export function withoutFixedOptions(uri: string): {
  readonly uri: string;
  readonly ignored: readonly string[];
} {
  const [address = "", query = ""] = uri.split("?", 2);
  const nameOf = (option: string): string => option.split("=", 1)[0] ?? "";
  const options = query.split("&").filter((option) => option !== "");
  const kept = options.filter((option) => !fixed.has(nameOf(option).toLowerCase()));
  return {
    uri: kept.length === 0 ? address : `${address}?${kept.join("&")}`,
    ignored: options.filter((option) => !kept.includes(option)).map(nameOf),
  };
}
