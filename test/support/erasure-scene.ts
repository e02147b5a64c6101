import { newId } from "@topicsync/lib/sys-id";
import { createErasureStore } from "../../src/storage/erasures.ts";
import { createReplayKey } from "../../src/storage/replay-key.ts";
import { createSessionStore } from "../../src/storage/sessions.ts";
import { createUserStore } from "../../src/storage/users.ts";
import { createErase } from "../../src/users/erasure.ts";
import { connectProxiedDatabase } from "./database.ts";
import { installation, type InstallationRecord } from "./installations.ts";
import { mongoErrors } from "./mongo-faults.ts";
import { unique } from "./names.ts";
import { createTopicRecord } from "./topic-record.ts";

const writeCommands = ["insert", "update", "delete"] as const;

/** A database with persons who can be erased, by processes that can be killed. */
export async function createErasureScene() {
  let writesLeft = Infinity;
  let written = 0;
  const { db, database, proxy } = await connectProxiedDatabase({
    onCommand(command) {
      if (!writeCommands.some((name) => name in command)) return;
      written += 1;
      writesLeft -= 1;
      if (writesLeft >= 0) return;
      for (const name of writeCommands)
        proxy.fail({ command: name, executed: false, answer: mongoErrors.tooSlow, times: 1_000 });
    },
  });
  const installations = db.collection<InstallationRecord>("sys_push_notif_app_install");

  /** The documents with a text. */
  async function findText(text: string): Promise<string[]> {
    const found: string[] = [];
    for (const { name } of await db.listCollections().toArray())
      for await (const one of db.collection(name).find())
        if (JSON.stringify(one).includes(text)) found.push(`${name}: ${JSON.stringify(one)}`);
    return found;
  }

  /** Adds a person with everything that one can leave behind. */
  async function addPerson(): Promise<string> {
    const user = unique("person");
    const source = { kind: "http", user } as const;
    const on = new Date();
    const topic = { ...createTopicRecord({ externalId: unique("topic") }), source };
    const by = [user, "somebody", user].map((one) => ({ by: one }));
    const insert = (name: string, record: object) =>
      db.collection(name).insertOne({ _id: newId() as never, ...record });
    await Promise.all([
      insert("sys_user", {
        user_name: user,
        roles: ["admin"],
        active: true,
        password_hash: "x",
        email: user,
      }),
      insert("topicsync_sessions", {
        user_name: user,
        created_on: on,
        expires_on: new Date(Date.now() + 3_600_000),
      }),
      insert("topicsync_keys", {
        name: unique("key"),
        slot: 1,
        digest: newId(),
        created_by: user,
        maker: user,
      }),
      insert("topicsync_keys", {
        name: unique("key"),
        slot: 1,
        digest: newId(),
        created_by: "key:ci",
        maker: user,
      }),
      insert("svc_api_notif_mgmt_topic", { ...topic, previous: { source } }),
      insert("topicsync_topic_details", {
        ...{ version: 1, namespace: "", changed_by: user, owner: user, words: ["topic", ...user.split("-")] },
        consumers: [{ name: "a team", contact: user }],
      }),
      insert("topicsync_topic_sets", { version: 3, created_by: user, namespace: [], applies: by }),
      insert("topicsync_backfills", { slot: newId(), state: "done", request: { requestedBy: user } }),
      insert("sys_push_notif_app_install", installation(unique("token"), { user })),
      insert(
        "sys_push_notif_app_install",
        installation(unique("token"), {
          user: "bob",
          previous_owners: [
            { user, until: on },
            { user: "eve", until: on },
          ],
        }),
      ),
    ]);
    return user;
  }

  return {
    ...{ db, database, installations, findText, addPerson },
    /** A process of its own, some minutes from now. */
    start: (minutes: number, recordsPerScan?: number) =>
      createErase({
        ...{ store: createErasureStore(database, recordsPerScan), users: createUserStore(database) },
        ...{ sessions: createSessionStore(database), getSecret: createReplayKey(database).getReplayKey },
        now: () => new Date(Date.now() + minutes * 61_000),
      }),
    /** Counts writes. */
    count: async (work: () => Promise<unknown>): Promise<number> => {
      written = 0;
      await work();
      return written;
    },
    /** Does something with a store that accepts only so many writes. */
    killAt: async (writes: number, work: () => Promise<unknown>): Promise<void> => {
      writesLeft = writes;
      await work();
      writesLeft = Infinity;
      proxy.clear();
    },
  };
}
