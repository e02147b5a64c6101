import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import kafkajs, { type Admin, type Kafka } from "kafkajs";

import { stopIdleChecks } from "../../../src/kafka/workarounds/request-queue.ts";
import { kafkaProcess } from "../../../src/embedded/kafka-process.ts";
import { afterwards, isAlive, launchOptions, portOf, start } from "./local.ts";

stopIdleChecks();

const noInput = Buffer.alloc(0);

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

/** The values of the first so many records of a topic, read as a member of a new group. */
async function read(t: TestContext, address: string, topic: string, count: number): Promise<string[]> {
  const consumer = connect(address).consumer({ groupId: `reader-${process.hrtime.bigint()}` });
  afterwards(t, () => consumer.disconnect());
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

describe("a Kafka process", () => {
  it("keeps topics and records over a stop and a start on another port", async (t) => {
    assert.equal(await kafkaProcess.missing(), undefined);
    const options = launchOptions(t);
    const first = await start(t, kafkaProcess, options);
    assert.match(first.description, /^Apache Kafka [\d.]+ \(process\)$/);
    // At once: that the broker runs must mean that it can lead a partition.
    await withAdmin(first.address, (admin) =>
      admin.createTopics({ topics: [{ topic: "a", numPartitions: 1 }] }),
    );
    const tool = first.runTool("kafka-console-producer", ["--topic", "a"], Buffer.from("späť\n{}\n"));
    assert.equal((await tool).trim(), "");
    assert.deepEqual(await read(t, first.address, "a", 2), ["späť", "{}"]);
    await first.stop();
    await first.stop();
    assert.equal(isAlive(first.pid ?? 0), false);
    await first.ended;

    const second = await start(t, kafkaProcess, options);
    assert.notEqual(second.address, first.address);
    assert.deepEqual(await read(t, second.address, "a", 2), ["späť", "{}"]);
  });

  it("comes back on the same data and the same port after it was killed", async (t) => {
    const options = launchOptions(t);
    const first = await start(t, kafkaProcess, options);
    await first.runTool("kafka-topics", ["--create", "--topic", "a", "--partitions", "1"], noInput);
    await first.runTool("kafka-console-producer", ["--topic", "a"], Buffer.from("one\n"));
    process.kill(first.pid ?? 0, "SIGKILL");
    assert.equal(await first.ended, "killed by SIGKILL");

    const second = await start(t, kafkaProcess, { ...options, port: portOf(first.address) });
    assert.equal(second.address, first.address);
    assert.deepEqual(await read(t, second.address, "a", 1), ["one"]);
    await second.runTool("kafka-console-producer", ["--topic", "a"], Buffer.from("two\n"));
    assert.deepEqual(await read(t, second.address, "a", 2), ["one", "two"]);
  });

  it("starts where an earlier preparation of its data was cut off", async (t) => {
    const options = launchOptions(t);
    const first = await start(t, kafkaProcess, options);
    await first.stop();
    rmSync(join(options.dataFolder, "kafka", "logs"), { recursive: true });
    await start(t, kafkaProcess, options);
  });

  it("passes on what a tool complains of, and makes no topic by itself", async (t) => {
    const broker = await start(t, kafkaProcess, launchOptions(t));
    const describing = broker.runTool("kafka-topics", ["--describe", "--topic", "absent"], noInput);
    await assert.rejects(describing, /kafka-topics failed: .*Topic 'absent' does not exist/s);
    const topics = await withAdmin(broker.address, (admin) => admin.listTopics());
    assert.deepEqual(topics, []);
  });

  it("says why it did not come up: a taken port, data that another broker uses", async (t) => {
    const options = launchOptions(t);
    const broker = await start(t, kafkaProcess, options);
    const port = portOf(broker.address);
    const elsewhere = launchOptions(t);
    await assert.rejects(kafkaProcess.start({ ...elsewhere, port }), new RegExp(`port ${port} .*EADDRINUSE`));
    assert.equal(existsSync(join(elsewhere.dataFolder, "kafka", "logs")), false);
    await assert.rejects(
      kafkaProcess.start(options),
      /did not come up: exited with code 1.*Failed to acquire lock/s,
    );
  });
});
