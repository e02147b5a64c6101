import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import { Kafka, logLevel, type Admin, type Message } from "kafkajs";
import { MongoClient } from "mongodb";

import { stopIdleChecks } from "@topicsync/kafka/internals";
import { settingsSchema } from "../../../schemas/settings.ts";
import { removeData } from "../container-data.ts";
import { connectEngine } from "../container-engine.ts";
import { runContainer } from "../container-run.ts";
import { createKafkaLauncher, createMongoLauncher } from "../containers.ts";
import { findFreePort } from "../tcp-port.ts";
import type { Launcher, LaunchOptions, Running } from "../stack.ts";
import { startElsewhere } from "../../../test/support/local.ts";

stopIdleChecks();

const { properties: images } = settingsSchema;
const kafka = createKafkaLauncher(
  process.env["TOPICSYNC_KAFKA_IMAGE"] ?? images.TOPICSYNC_KAFKA_IMAGE.default,
);
const mongo = createMongoLauncher(
  process.env["TOPICSYNC_MONGO_IMAGE"] ?? images.TOPICSYNC_MONGO_IMAGE.default,
);

// Containers are tested only on request. Then a missing engine or image is a failure.
if (process.env["TOPICSYNC_STACK"] === "containers") {
  describe("a Kafka container", () => {
    it("keeps its topics and records across a restart on another port", async (t) => {
      assert.equal(await kafka.findMissing(), undefined);
      const options = createOptions(t);
      const first = await start(t, kafka, options);
      await withAdmin(first.address, (admin) => admin.createTopics({ topics: [{ topic: "a" }] }));
      await write(first.address, "a", [
        { key: "1", value: '{"name":"späť"}' },
        { key: "2", value: "{}" },
      ]);
      assert.deepEqual(await read(first.address, "a", 2), ['1|{"name":"späť"}', "2|{}"]);
      await first.stop();
      await first.stop();
      assert.match(await first.ended, /exited with code (0|143)/);

      const second = await startElsewhere(first, () => start(t, kafka, options));
      assert.notEqual(second.address, first.address);
      assert.deepEqual(await read(second.address, "a", 2), ['1|{"name":"späť"}', "2|{}"]);
    });

    it("does not create topics automatically", async (t) => {
      const broker = await start(t, kafka, createOptions(t));
      await withAdmin(broker.address, async (admin) => {
        await assert.rejects(admin.fetchTopicMetadata({ topics: ["absent"] }));
        assert.deepEqual(await admin.listTopics(), []);
      });
    });
  });

  describe("a MongoDB container", () => {
    it("supports transactions and keeps documents across a restart", async (t) => {
      assert.equal(await mongo.findMissing(), undefined);
      const options = createOptions(t);
      const first = await start(t, mongo, options);
      await withClient(first.address, async (client) => {
        await client.withSession((session) =>
          session.withTransaction(() => client.db("x").collection("a").insertOne({ n: 1 }, { session })),
        );
      });
      await first.stop();

      const second = await start(t, mongo, options);
      assert.equal(await withClient(second.address, count), 1);
    });

    it("shows the server's last output if it does not start, without waiting for the timeout", async (t) => {
      const command = ["sh", "-c", "echo out of disk; exit 3"];
      const spec = { kind: "mongo", image: getMongoImage(), port: 27017, dataPath: "/data/db", command };
      await assert.rejects(
        runContainer(spec, createOptions(t)),
        /did not start: it exited with code 3. Its last output:\nout of disk/,
      );
    });

    it("listens on the given port, on this machine only", async (t) => {
      const port = await findFreePort();
      const { address } = await start(t, mongo, { ...createOptions(t), port });
      const { container, info } = await connectEngine();
      // If the tests run in a container, the engine's loopback interface is unreachable.
      const engine = info.containerRuntime.host;
      const isLocal = engine === "localhost";
      assert.equal(address, `mongodb://${isLocal ? "127.0.0.1" : engine}:${port}/?directConnection=true`);
      if (!isLocal) return;
      const containers = await container.list();
      const bound = containers.flatMap(({ Ports }) => Ports).filter(({ PublicPort }) => PublicPort === port);
      assert.deepEqual(
        bound.map(({ IP }) => IP),
        ["127.0.0.1"],
      );
    });

    it("reports an unexpected exit", async (t) => {
      const options = createOptions(t);
      const store = await start(t, mongo, options);
      const { container } = await connectEngine();
      const port = Number(new URL(store.address).port);
      const all = await container.list();
      const id = all.find(({ Ports }) => Ports.some(({ PublicPort }) => PublicPort === port))?.Id ?? "";
      await container.getById(id).kill();
      assert.equal(await store.ended, "exited with code 137");
      await store.stop();
    });

    it("rejects a second owner, but accepts one after the first was killed", async (t) => {
      const options = createOptions(t);
      const owner = await startInAnotherProcess(options.dataFolder);
      await withClient(owner.address, (client) => client.db("x").collection("a").insertOne({ n: 1 }));
      await assert.rejects(start(t, mongo, options), new RegExp(`belongs to process ${owner.pid}`));
      await owner.kill();

      const store = await start(t, mongo, options);
      assert.equal(await withClient(store.address, count), 1);
    });
  });

  describe("a container image that does not exist", () => {
    it("is reported with the command that fixes it", async () => {
      const missing = await createKafkaLauncher("topicsync-test/does-not-exist").findMissing();
      assert.match(missing ?? "", /topicsync-test\/does-not-exist .*docker pull/);
    });

    it("is named in the message", async (t) => {
      const absent = createMongoLauncher("topicsync-test/does-not-exist");
      await assert.rejects(
        start(t, absent, createOptions(t)),
        /topicsync-test\/does-not-exist could not be pulled/,
      );
    });
  });
}

function getMongoImage(): string {
  return process.env["TOPICSYNC_MONGO_IMAGE"] ?? images.TOPICSYNC_MONGO_IMAGE.default;
}

/** A new data folder, whose volume is removed when the test ends. */
function createOptions(t: TestContext): LaunchOptions {
  const dataFolder = join(tmpdir(), `topicsync-containers-${randomUUID()}`);
  // Hooks run in the order in which they were added, and a volume must be removed after its container.
  stops.set(t, []);
  t.after(async () => {
    for (const stop of stops.get(t) ?? []) await stop();
    await removeData("kafka", dataFolder);
    await removeData("mongo", dataFolder);
  });
  return { dataFolder, toolsFolder: join(dataFolder, "tools"), report: () => undefined };
}

const stops = new WeakMap<TestContext, (() => Promise<void>)[]>();

async function start(t: TestContext, launcher: Launcher, options: LaunchOptions): Promise<Running> {
  const running = await launcher.start(options);
  stops.get(t)?.push(() => running.stop());
  return running;
}

/** Starts the store in another process, which can be killed without stopping the store. */
async function startInAnotherProcess(
  dataFolder: string,
): Promise<{ pid: number; address: string; kill: () => Promise<void> }> {
  const script = `
    import { createMongoLauncher } from ${JSON.stringify(import.meta.resolve("../../../packages/embedded/containers.ts"))};
    const [image, dataFolder] = process.argv.slice(1);
    const { address } = await createMongoLauncher(image).start({ dataFolder, toolsFolder: dataFolder, report: () => {} });
    console.log(address);
  `;
  const child = spawn(
    process.execPath,
    ["--input-type=module", "--eval", script, getMongoImage(), dataFolder],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const [address] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  return {
    pid: child.pid ?? 0,
    address: address.trim(),
    kill: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

async function withClient<T>(address: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(address);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

function count(client: MongoClient): Promise<number> {
  return client.db("x").collection("a").countDocuments();
}

const connect = (broker: string): Kafka => new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING });

async function withAdmin(broker: string, use: (admin: Admin) => Promise<unknown>): Promise<void> {
  const admin = connect(broker).admin();
  await admin.connect();
  try {
    await use(admin);
  } finally {
    await admin.disconnect();
  }
}

async function write(broker: string, topic: string, messages: Message[]): Promise<void> {
  const producer = connect(broker).producer();
  await producer.connect();
  try {
    await producer.send({ topic, messages });
  } finally {
    await producer.disconnect();
  }
}

/** Reads the first records of a topic, as `key|value`. */
async function read(broker: string, topic: string, count: number): Promise<string[]> {
  const consumer = connect(broker).consumer({ groupId: randomUUID() });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    const { promise, resolve } = Promise.withResolvers<string[]>();
    const records: string[] = [];
    await consumer.run({
      eachMessage: ({ message: { key, value } }) => {
        records.push(`${key?.toString() ?? ""}|${value?.toString() ?? ""}`);
        if (records.length === count) resolve(records);
        return Promise.resolve();
      },
    });
    return await promise;
  } finally {
    await consumer.disconnect();
  }
}
