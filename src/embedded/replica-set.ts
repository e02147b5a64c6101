import { MongoClient, MongoServerError, type Document } from "mongodb";

/** Somebody else was faster, or the server is a replica set of its own making (it does not know the command). */
const tolerated = new Set(["AlreadyInitialized", "CommandNotFound"]);

/**
 * Makes a mongod that was started with --replSet a replica set of one member, unless it is one already, and waits until
 * it takes writes. The member calls itself `member`: clients must connect to it directly. Throws an Error when the server
 * takes no writes within so many milliseconds.
 */
export async function ensurePrimary(
  uri: string,
  { member, within }: { member: string; within: number },
): Promise<void> {
  const client = new MongoClient(uri, { directConnection: true, serverSelectionTimeoutMS: within });
  const deadline = Date.now() + within;
  try {
    const admin = client.db("admin");
    for (;;) {
      const hello = await admin.command({ hello: 1 });
      if (hello["isWritablePrimary"] === true) return;
      if (hello["isreplicaset"] === true) await initiate((command) => admin.command(command), member);
      if (Date.now() > deadline) throw new Error(`the replica set has no primary after ${within / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    await client.close();
  }
}

async function initiate(run: (command: Document) => Promise<Document>, member: string): Promise<void> {
  try {
    await run({ replSetInitiate: { _id: "rs0", members: [{ _id: 0, host: member }] } });
  } catch (error) {
    if (!(error instanceof MongoServerError && tolerated.has(error.codeName ?? ""))) throw error;
  }
}
