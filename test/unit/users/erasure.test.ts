/** What others write while a person is erased. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { NameTakenError } from "@topicsync/lib/errors";
import type { Database } from "../../../src/storage/database/database.ts";
import { createErasureStore } from "../../../src/storage/erasures.ts";
import { createInstallationStore } from "../../../src/storage/installations/installations.ts";
import { createSessionStore } from "../../../src/storage/sessions.ts";
import { createUserStore } from "../../../src/storage/users.ts";
import { createUserAdministration } from "../../../src/users/administration.ts";
import { createIsBeingErased } from "../../../src/users/erasure.ts";
import { SignInError } from "../../../src/users/openid.ts";
import { createSessions } from "../../../src/users/session.ts";
import { createErasureScene } from "../../support/erasure-scene.ts";
import { installation } from "../../support/installations.ts";
import { unique } from "../../support/names.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { db, database, installations, addPerson, findText, start } = await createErasureScene();

describe("the erasure of a person", () => {
  it("replaces the name, and nothing else", async () => {
    const user = await addPerson();
    const set = await db.collection("topicsync_topic_sets").findOne({ created_by: user });
    const details = await db.collection("topicsync_topic_details").findOne({ owner: user });
    const moved = await installations.findOne({ "previous_owners.user": user });
    const erasure = await start(0)(user);
    await start(1)(user);
    const to = erasure?.pseudonym;
    assert.deepEqual(await db.collection("topicsync_topic_sets").findOne({ _id: set?._id as never }), {
      ...set,
      ...{ created_by: to, applies: [{ by: to }, { by: "somebody" }, { by: to }] },
    });
    assert.deepEqual(await db.collection("topicsync_topic_details").findOne({ _id: details?._id as never }), {
      ...details,
      ...{ changed_by: to, owner: to, words: ["topic"], consumers: [{ name: "a team", contact: to }] },
    });
    const [first, second] = moved?.previous_owners ?? [];
    assert.deepEqual(await installations.findOne({ _id: moved?._id as never }), {
      ...moved,
      previous_owners: [{ ...first, user: to }, second],
    });
  });

  it("is safe for names that mean something to MongoDB or are part of others", async () => {
    for (const name of ["http", "admin", "$set", "a.b", 'quo"ted', ".*"]) {
      const source = { kind: "http", user: name } as const;
      const record = { ...createTopicRecord({ externalId: unique("topic") }), source };
      const other = {
        ...createTopicRecord({ externalId: unique("topic") }),
        source: { ...source, user: `${name}s` },
      };
      await db.collection("svc_api_notif_mgmt_topic").insertMany([record, other] as never[]);
      await start(0)(name);
      const erasure = await start(1)(name);
      assert.equal(erasure?.complete, true, name);
      const find = ({ _id }: { _id: string }) =>
        db.collection("svc_api_notif_mgmt_topic").findOne({ _id: _id as never });
      assert.deepEqual((await find(record))?.["source"], { kind: "http", user: erasure.pseudonym });
      assert.deepEqual(await find(other), other);
    }
  });

  it("leaves no name behind that the next owner of a token has read before", async () => {
    const user = await addPerson();
    const { token, application, platform } = (await installations.findOne({ user })) ?? installation("");
    const gate = Promise.withResolvers<undefined>();
    const reached = Promise.withResolvers<undefined>();
    let commands = 0;
    // The first statement finds another owner; the second one knows it.
    const slow: Database = {
      ...database,
      async command(command) {
        commands += 1;
        if (commands === 2) {
          reached.resolve(undefined);
          await gate.promise;
        }
        return database.command(command);
      },
    };
    const key = { token, application, platform };
    const writing = createInstallationStore(slow).write([{ kind: "register", key, user: "bob" }]);
    await reached.promise;
    // Repeated at once, it must not delete the token yet.
    for (const minutes of [0, 0]) await start(minutes)(user);
    gate.resolve(undefined);
    assert.deepEqual(await writing, []);
    assert.equal((await start(1)(user))?.complete, true);
    assert.deepEqual(await findText(user), []);
    assert.equal((await installations.findOne({ token }))?.user, "bob");
  });

  it("is complete only once a search finds nothing: what was registered late is deleted", async () => {
    const user = await addPerson();
    await start(0)(user);
    const key = { token: unique("token"), application: "agent", platform: "ios" };
    await createInstallationStore(database).write([{ kind: "register", key, user }]);
    const late = await start(1)(user);
    assert.equal(late?.complete, false);
    assert.equal((await installations.findOne({ token: key.token }))?.active, false);
    assert.equal((await start(2)(user))?.complete, true);
    assert.equal(await installations.findOne({ token: key.token }), null);
    assert.deepEqual(await findText(user), []);
  });

  it("keeps out users of an OpenID provider, and the name from being added, while it lasts", async () => {
    const name = `oidc:${unique("person")}`;
    await installations.insertOne(installation(unique("token"), { user: name }));
    const [store, users] = [createSessionStore(database), createUserStore(database)];
    const create = () => {
      const isBeingErased = createIsBeingErased(createErasureStore(database));
      return {
        sessions: createSessions({ store, users, issuer: "issuer", isBeingErased }),
        administration: createUserAdministration({ users, sessions: store, isBeingErased }),
      };
    };
    const user = { name, roles: [], active: true };
    const open = await create().sessions.beginFederated(user, "issuer");
    await start(0)(name);
    const late = await create().sessions.beginFederated({ ...user, name: unique("other") }, "issuer");
    await db
      .collection("topicsync_sessions")
      .updateMany({ user_name: late.user.name }, { $set: { user_name: name } });
    const { sessions, administration } = create();
    for (const { id } of [open, late]) assert.equal(await sessions.find(id), undefined);
    await assert.rejects(sessions.beginFederated(user, "issuer"), SignInError);
    await assert.rejects(administration.add({ name, password: "a password", roles: [] }), NameTakenError);
    await start(1)(name);
    assert.deepEqual(await findText(name), []);
    assert.equal((await create().sessions.beginFederated(user, "issuer")).user.name, name);
  });

  it("can be asked for twice at the same time", async () => {
    const user = await addPerson();
    const [one, other] = await Promise.all([start(0)(user), start(0)(user)]);
    assert.equal(one?.pseudonym, other?.pseudonym);
    await start(1)(user);
    assert.deepEqual(await findText(user), []);
  });

  it("reads more records than one query does", async () => {
    const user = await addPerson();
    const many = Array.from({ length: 200 }, (_, i) =>
      installation(unique("token"), { user: i % 20 ? "bob" : user }),
    );
    await installations.insertMany(many);
    await start(0, 40)(user);
    const erasure = await start(1, 40)(user);
    assert.deepEqual([erasure?.complete, erasure?.deletedTokens], [true, 11]);
    assert.deepEqual(await findText(user), []);
  });
});
