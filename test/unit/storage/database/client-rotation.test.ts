/** Files of MONGODB_URI that cannot be used one time after another, each time for another reason. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import { Db, MongoClient } from "mongodb";

import { createLogger } from "@topicsync/lib/logger";
import { Clients, createClient } from "../../../../src/storage/database/clients.ts";
import { useVirtualTime } from "../../../support/virtual-time.ts";
import { createFolder } from "../../../support/local.ts";

const pollMs = 5_000;
const graceMs = 60_000;
const buildUri = (host: string, database = "topics"): string => `mongodb://${host}/${database}`;
const toHost = (client: MongoClient): string => client.options.hosts[0]?.host ?? "";

/** Follows a file. Clients connect as the test says, without a network. */
async function createScene(t: TestContext) {
  const time = useVirtualTime(t);
  const lines: string[] = [];
  const log = await createLogger("info", {
    write(line) {
      const { msg, reason } = JSON.parse(line) as { msg: string; reason?: string };
      lines.push(reason ?? msg);
    },
  });
  /** What connecting to a host, or the first command there, fails with. */
  const faults: Record<string, { readonly connect?: Error | Promise<unknown>; readonly ping?: Error }> = {};
  /** The hosts of clients that were asked to connect, and that were closed, in order. */
  const [connected, closed]: [string[], string[]] = [[], []];
  t.mock.method(MongoClient.prototype, "connect", async function (this: MongoClient) {
    connected.push(toHost(this));
    const { connect } = faults[toHost(this)] ?? {};
    if (connect instanceof Error) throw connect;
    await connect;
    return this;
  });
  t.mock.method(MongoClient.prototype, "close", function (this: MongoClient) {
    closed.push(toHost(this));
    return Promise.resolve();
  });
  t.mock.method(Db.prototype, "command", () => {
    const { ping } = faults[connected.at(-1) ?? ""] ?? {};
    return ping === undefined ? Promise.resolve({ ok: 1 }) : Promise.reject(ping);
  });
  const file = join(createFolder(t), "uri");
  const write = (text: string): void => {
    writeFileSync(file, text);
  };
  write(buildUri("first"));
  const clients = new Clients(createClient(buildUri("first")), log);
  clients.follow({ uri: buildUri("first"), file });
  let elections = 0;
  clients.onElection(() => (elections += 1));
  return {
    ...{ time, faults, connected, closed, clients, write },
    countElections: () => elections,
    getHost: () => toHost(clients.current.client),
    /** What is logged until the file has been read some times. */
    poll: async (times = 3): Promise<string[]> => {
      await time.pass(times * pollMs);
      return lines.splice(0);
    },
  };
}

const replaced = "mongodb connection replaced, its files have changed";

describe("a changed MONGODB_URI_FILE", () => {
  it("that cannot be used for one reason after another is reported once for each, then followed", async (t) => {
    const { time, faults, connected, closed, clients, write, countElections, getHost, poll } =
      await createScene(t);
    faults["second"] = { connect: new Error("Authentication failed") };
    faults["third"] = { ping: new Error("not authorized") };
    assert.deepEqual(await poll(), []);
    write("");
    const [empty, ...more] = await poll();
    assert.match(empty ?? "", /uri is empty$/);
    assert.deepEqual(more, []);
    write(buildUri("second"));
    assert.deepEqual(await poll(), ["Authentication failed"]);
    write(buildUri("third"));
    assert.deepEqual(await poll(), ["not authorized"]);
    write(buildUri("fourth", "others"));
    assert.deepEqual(await poll(), ["another database needs a restart"]);
    write(buildUri("second"));
    assert.deepEqual(await poll(), ["Authentication failed"], "it was another reason before");
    const unused = ["second", "third", "fourth", "second"].flatMap((host) => [host, host, host]);
    assert.deepEqual(closed, unused, "each client that was not used is closed once");
    assert.deepEqual([getHost(), countElections()], ["first", 0]);

    write(buildUri("fifth"));
    assert.deepEqual(await poll(1), [replaced]);
    assert.deepEqual([getHost(), countElections()], ["fifth", 1]);
    assert.equal(connected.at(-1), "fifth");
    await time.pass(graceMs - 1);
    assert.deepEqual(closed, unused, "what began with the former client is finished with it");
    await time.pass(1);
    assert.deepEqual(closed, [...unused, "first"]);
    assert.deepEqual(await poll(30), []);
    await clients.close();
    assert.deepEqual(closed, [...unused, "first", "fifth"]);
  });

  it("is followed once for each content if it changes while a client connects slowly", async (t) => {
    const { time, faults, connected, closed, clients, write, countElections, getHost, poll } =
      await createScene(t);
    const [failing, slow] = [Promise.withResolvers(), Promise.withResolvers()];
    faults["second"] = { connect: failing.promise };
    faults["third"] = { connect: slow.promise };
    write(buildUri("second"));
    assert.deepEqual(await poll(), []);
    failing.reject(new Error("timed out"));
    assert.deepEqual(await poll(0), ["timed out"]);
    write(buildUri("third"));
    assert.deepEqual(await poll(), []);
    write(buildUri("fourth"));
    assert.deepEqual(await poll(), []);
    assert.deepEqual([connected, closed, getHost()], [["second", "third"], ["second"], "first"]);
    slow.resolve(undefined);
    assert.deepEqual(await poll(0), [replaced]);
    assert.equal(getHost(), "third");
    assert.deepEqual(await poll(), [replaced]);
    assert.deepEqual([getHost(), countElections()], ["fourth", 2]);
    assert.deepEqual(connected, ["second", "third", "fourth"]);
    await time.pass(2 * graceMs);
    assert.deepEqual(closed, ["second", "first", "third"], "each former client is closed once");
    await clients.close();
    assert.deepEqual(closed, ["second", "first", "third", "fourth"]);
  });

  it("is not followed any more after the end, which closes former clients in their grace", async (t) => {
    const { time, faults, closed, clients, write, getHost, poll } = await createScene(t);
    const slow = Promise.withResolvers();
    faults["third"] = { connect: slow.promise };
    write(buildUri("second"));
    assert.deepEqual(await poll(1), [replaced]);
    write(buildUri("third"));
    assert.deepEqual(await poll(1), []);
    await clients.close();
    assert.deepEqual(closed, ["second", "first"]);
    slow.resolve(undefined);
    write(buildUri("fourth"));
    assert.deepEqual(await poll(), ["the connection is closed"]);
    await time.pass(2 * graceMs);
    assert.deepEqual([getHost(), closed], ["second", ["second", "first", "third"]]);
  });
});
