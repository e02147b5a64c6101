import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { MongoClient, type Collection } from "mongodb";

import { isAlive } from "../process.ts";
import { installSecantus } from "../secantus-package.ts";
import type { Launcher } from "../stack.ts";
import { mongodProcess, secantusProcess } from "../store-process.ts";
import { findPython } from "../toolchain.ts";
import {
  createLaunchOptions,
  extendPath,
  getPort,
  start,
  startElsewhere,
} from "../../../test/support/local.ts";

interface Item {
  _id: number;
}

async function withItems<T>(
  address: string,
  use: (items: Collection<Item>, client: MongoClient) => Promise<T>,
): Promise<T> {
  const client = new MongoClient(address);
  try {
    return await use(client.db("test").collection<Item>("items"), client);
  } finally {
    await client.close();
  }
}

const insertInTransaction = (address: string, ...ids: number[]): Promise<void> =>
  withItems(address, (items, client) =>
    client.withSession((session) =>
      session.withTransaction(async () => {
        await items.insertMany(
          ids.map((_id) => ({ _id })),
          { session },
        );
      }),
    ),
  );

const listIds = (address: string): Promise<number[]> =>
  withItems(address, async (items) => (await items.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id));

/** The tests of every store. */
function describeStore(launcher: Launcher): void {
  it("keeps the writes of a transaction across a restart on another port", async (t) => {
    const options = createLaunchOptions(t);
    const first = await start(t, launcher, options);
    await insertInTransaction(first.address, 1, 2);
    await first.stop();
    await first.stop();
    assert.equal(isAlive(first.pid ?? 0), false);

    const second = await startElsewhere(first, () => start(t, launcher, options));
    assert.notEqual(second.address, first.address);
    assert.deepEqual(await listIds(second.address), [1, 2]);
  });

  it("restarts with every acknowledged write on the same port after it was killed", async (t) => {
    const options = createLaunchOptions(t);
    const first = await start(t, launcher, options);
    await insertInTransaction(first.address, 1, 2, 3);
    process.kill(first.pid ?? 0, "SIGKILL");
    assert.equal(await first.ended, "killed by SIGKILL");

    const second = await start(t, launcher, { ...options, port: getPort(first.address) });
    assert.equal(second.address, first.address);
    assert.deepEqual(await listIds(second.address), [1, 2, 3]);
  });

  it("reports that another store uses its data", async (t) => {
    const options = createLaunchOptions(t);
    await start(t, launcher, options);
    await assert.rejects(
      launcher.start(options),
      /did not start: exited with code .*\. Its last output:\n./s,
    );
  });
}

describe("a SecantusDB process", () => {
  describeStore(secantusProcess);
});

describe("a mongod process", async () => {
  if ((await mongodProcess.findMissing()) === undefined) {
    describeStore(mongodProcess);
    return;
  }
  it("is started from the PATH as a replica set on 127.0.0.1 with its own data folder", async (t) => {
    const options = createLaunchOptions(t);
    const python = await findPython();
    const packages = await installSecantus(python, options);
    // SecantusDB replaces mongod here; the script checks the options.
    extendPath(t, {
      mongod: `
        [ "$1" = --version ] && { echo "db version v8.0.4"; exit; }
        echo "$@"
        [ "$1 $2 $3 $5 $7 $8" = "--bind_ip 127.0.0.1 --port --dbpath --replSet rs0" ] || exit 64
        PYTHONPATH=${packages} exec ${python.command} ${packages}/bin/secantusd-py --port "$4" --storage-path "$6"`,
    });
    const store = await start(t, mongodProcess, options);
    assert.equal(store.description, "mongod 8.0.4 (process)");
    await insertInTransaction(store.address, 1);
    assert.deepEqual(await listIds(store.address), [1]);
  });
});
