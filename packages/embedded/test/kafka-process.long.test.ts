import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";

import kafkajs, { type Admin, type Kafka } from "kafkajs";

import { stopIdleChecks } from "@topicsync/kafka/internals";
import { kafkaVersion } from "../kafka-jars.ts";
import { kafkaProcess } from "../kafka-process.ts";
import { isAlive } from "../process.ts";
import type { Running } from "../stack.ts";
import { useFolder } from "../../../test/support/folder.ts";
import {
  cleanUpAfter,
  createFolder,
  createLaunchOptions,
  getPort,
  startElsewhere,
  toolsFolder,
} from "../../../test/support/local.ts";

stopIdleChecks();

function connect(address: string): Kafka {
  return new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.NOTHING });
}

async function withAdmin<T>(address: string, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = connect(address).admin();
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}

async function write(t: TestContext, topic: string, value: string): Promise<void> {
  const producer = connect(broker.address).producer({
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  cleanUpAfter(t, () => producer.disconnect());
  await producer.connect();
  await producer.send({ topic, messages: [{ value }] });
}

/** Reads the values of the first records of a topic, as a member of a new group. */
async function read(t: TestContext, topic: string, count: number): Promise<string[]> {
  const consumer = connect(broker.address).consumer({ groupId: `reader-${process.hrtime.bigint()}` });
  cleanUpAfter(t, () => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  const values: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const eachMessage = ({ message }: { message: { value: Buffer | null } }): Promise<void> => {
      if (values.push(message.value?.toString() ?? "") === count) resolve();
      return Promise.resolve();
    };
    consumer.run({ eachMessage }).catch(reject);
  });
  await consumer.disconnect();
  return values;
}

/** Returns a tools folder with Kafka's jars, but without an archive of classes. */
function linkJars(t: TestContext): string {
  const folder = createFolder(t);
  const kafka = `kafka-${kafkaVersion}`;
  mkdirSync(join(folder, kafka));
  for (const jar of readdirSync(join(toolsFolder, kafka)).filter((name) => name.endsWith(".jar")))
    symlinkSync(join(toolsFolder, kafka, jar), join(folder, kafka, jar));
  return folder;
}

let broker: Running;
after(() => broker.stop());
const { path: dataFolder } = useFolder();
const options = { dataFolder, toolsFolder, report: () => undefined };

// Each test continues with the broker and the data of the one before: a start takes seconds.
describe("a Kafka process", () => {
  before(async () => {
    assert.equal(await kafkaProcess.findMissing(), undefined);
    broker = await kafkaProcess.start(options);
  });

  it("does not create topics automatically", async () => {
    assert.match(broker.description, /^Apache Kafka [\d.]+ \(process\)$/);
    await withAdmin(broker.address, async (admin) => {
      await assert.rejects(admin.fetchTopicMetadata({ topics: ["absent"] }));
      assert.deepEqual(await admin.listTopics(), []);
    });
  });

  it("says why another one did not start: a port in use, data in use", async (t) => {
    const port = getPort(broker.address);
    const elsewhere = createLaunchOptions(t);
    await assert.rejects(kafkaProcess.start({ ...elsewhere, port }), new RegExp(`port ${port} .*EADDRINUSE`));
    assert.equal(existsSync(join(elsewhere.dataFolder, "kafka", "logs")), false);
    // The first broker of an installation also writes Java's archive of classes at its exit.
    for (const tools of [toolsFolder, linkJars(t)])
      await assert.rejects(
        kafkaProcess.start({ ...options, toolsFolder: tools }),
        /did not start: exited with code 1.*Failed to acquire lock/s,
      );
  });

  it("keeps topics and records across a restart on another port", async (t) => {
    const first = broker;
    await withAdmin(first.address, (admin) =>
      admin.createTopics({ topics: [{ topic: "a", numPartitions: 1 }] }),
    );
    await write(t, "a", "späť");
    await write(t, "a", "{}");
    assert.deepEqual(await read(t, "a", 2), ["späť", "{}"]);
    await first.stop();
    await first.stop();
    assert.equal(isAlive(first.pid ?? 0), false);
    await first.ended;

    broker = await startElsewhere(first, () => kafkaProcess.start(options));
    assert.notEqual(broker.address, first.address);
    // Immediately: a running broker must be able to lead a partition.
    await withAdmin(broker.address, (admin) =>
      admin.createTopics({ topics: [{ topic: "b", numPartitions: 1 }] }),
    );
    assert.deepEqual(await read(t, "a", 2), ["späť", "{}"]);
  });

  it("restarts on the same data and port after it was killed", async (t) => {
    const { pid, address, ended } = broker;
    await write(t, "b", "one");
    process.kill(pid ?? 0, "SIGKILL");
    assert.equal(await ended, "killed by SIGKILL");

    broker = await kafkaProcess.start({ ...options, port: getPort(address) });
    assert.equal(broker.address, address);
    assert.deepEqual(await read(t, "b", 1), ["one"]);
    await write(t, "b", "two");
    assert.deepEqual(await read(t, "b", 2), ["one", "two"]);
  });

  it("starts although an earlier preparation of its data was interrupted", async () => {
    await broker.stop();
    rmSync(join(dataFolder, "kafka", "logs"), { recursive: true });
    broker = await kafkaProcess.start(options);
  });
});
