import { setTimeout as sleep } from "node:timers/promises";

import { MongoClient, MongoServerError, type Admin } from "mongodb";

/** Another process was faster, or the server has a built-in replica set (it does not support the command). */
const ignoredByInitiate = new Set(["AlreadyInitialized", "CommandNotFound"]);

/**
 * Makes a mongod that was started with --replSet a replica set of one member, unless it is one, and waits
 * until it accepts writes. `member` is the member's address; clients must connect to it directly. Throws an
 * Error after the timeout.
 */
export async function ensurePrimary(
  uri: string,
  { member, timeoutMs }: { member: string; timeoutMs: number },
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  await withAdmin(uri, timeoutMs, async (admin) => {
    for (;;) {
      const hello = await admin.command({ hello: 1 });
      if (hello["isWritablePrimary"] === true) return;
      if (hello["isreplicaset"] === true) await initiate(admin, member);
      if (Date.now() > deadline)
        throw new Error(`the replica set has no primary after ${timeoutMs / 1000} s`);
      await sleep(100);
    }
  });
}

async function initiate(admin: Admin, member: string): Promise<void> {
  try {
    await admin.command({ replSetInitiate: { _id: "rs0", members: [{ _id: 0, host: member }] } });
  } catch (error) {
    if (!hasCodeName(error, ignoredByInitiate)) throw error;
  }
}

/** The set is not initiated yet, or the server has a built-in one (it does not support the command). */
const ignoredByReconfiguration = new Set(["NotYetInitialized", "CommandNotFound"]);

interface ReplicaSetConfig {
  readonly _id: string;
  readonly version: number;
  readonly members: readonly { readonly host: string }[];
}

/**
 * Changes the member's address in the stored configuration of the replica set. After a start on another port
 * the member does not find itself in the set and serves no requests; the change is forced, since there is no
 * primary to accept it.
 */
export async function changeMemberAddress(uri: string, member: string): Promise<void> {
  try {
    await withAdmin(uri, 500, async (admin) => {
      const { config } = (await admin.command({ replSetGetConfig: 1 })) as { config: ReplicaSetConfig };
      const { _id, version, members } = config;
      if (members[0]?.host === member) return;
      const changed = { _id, version: version + 1, members: [{ _id: 0, host: member }] };
      await admin.command({ replSetReconfig: changed, force: true });
    });
  } catch (error) {
    if (!hasCodeName(error, ignoredByReconfiguration)) throw error;
  }
}

/** Returns true if a MongoDB responds at this address, and throws otherwise. */
export const ping = (uri: string): Promise<true> =>
  withAdmin<true>(uri, 500, async (admin) => {
    await admin.ping();
    return true;
  });

const hasCodeName = (error: unknown, names: ReadonlySet<string>): boolean =>
  error instanceof MongoServerError && names.has(error.codeName ?? "");

async function withAdmin<T>(
  uri: string,
  serverSelectionTimeoutMS: number,
  use: (admin: Admin) => Promise<T>,
): Promise<T> {
  const client = new MongoClient(uri, { directConnection: true, serverSelectionTimeoutMS });
  try {
    return await use(client.db("admin").admin());
  } finally {
    await client.close();
  }
}
