import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import kafkajs, { type Admin, type Kafka } from "kafkajs";

import { stopIdleChecks } from "../../../src/kafka/workarounds/request-queue.ts";
import { kafkaProcess } from "../../../src/embedded/kafka-process.ts";
import { isAlive } from "../../../src/embedded/process.ts";
import { cleanUpAfter, createLaunchOptions, getPort, start } from "./local.ts";

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

/** Reads the values of the first records of a topic, as a member of a new group. */
async function read(t: TestContext, address: string, topic: string, count: number): Promise<string[]> {
  const consumer = connect(address).consumer({ groupId: `reader-${process.hrtime.bigint()}` });
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

describe("a Kafka process", () => {
  it("keeps topics and records across a restart on another port", async (t) => {
    assert.equal(await kafkaProcess.findMissing(), undefined);
    const options = createLaunchOptions(t);
    const first = await start(t, kafkaProcess, options);
    assert.match(first.description, /^Apache Kafka [\d.]+ \(process\)$/);
    // Immediately: a running broker must be able to lead a partition.
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

  it("restarts on the same data and port after it was killed", async (t) => {
    const options = createLaunchOptions(t);
    const first = await start(t, kafkaProcess, options);
    await first.runTool("kafka-topics", ["--create", "--topic", "a", "--partitions", "1"], noInput);
    await first.runTool("kafka-console-producer", ["--topic", "a"], Buffer.from("one\n"));
    process.kill(first.pid ?? 0, "SIGKILL");
    assert.equal(await first.ended, "killed by SIGKILL");

    const second = await start(t, kafkaProcess, { ...options, port: getPort(first.address) });
    assert.equal(second.address, first.address);
    assert.deepEqual(await read(t, second.address, "a", 1), ["one"]);
    await second.runTool("kafka-console-producer", ["--topic", "a"], Buffer.from("two\n"));
    assert.deepEqual(await read(t, second.address, "a", 2), ["one", "two"]);
  });

  it("starts although an earlier preparation of its data was interrupted", async (t) => {
    const options = createLaunchOptions(t);
    const first = await start(t, kafkaProcess, options);
    await first.stop();
    rmSync(join(options.dataFolder, "kafka", "logs"), { recursive: true });
    await start(t, kafkaProcess, options);
  });

  it("passes on the errors of tools, and does not create topics automatically", async (t) => {
    const broker = await start(t, kafkaProcess, createLaunchOptions(t));
    const describing = broker.runTool("kafka-topics", ["--describe", "--topic", "absent"], noInput);
    await assert.rejects(describing, /kafka-topics failed: .*Topic 'absent' does not exist/s);
    const topics = await withAdmin(broker.address, (admin) => admin.listTopics());
    assert.deepEqual(topics, []);
  });

  it("says why it did not start: a port in use, data in use by another broker", async (t) => {
    const options = createLaunchOptions(t);
    const broker = await start(t, kafkaProcess, options);
    const port = getPort(broker.address);
    const elsewhere = createLaunchOptions(t);
    await assert.rejects(kafkaProcess.start({ ...elsewhere, port }), new RegExp(`port ${port} .*EADDRINUSE`));
    assert.equal(existsSync(join(elsewhere.dataFolder, "kafka", "logs")), false);
    await assert.rejects(
      kafkaProcess.start(options),
      /did not start: exited with code 1.*Failed to acquire lock/s,
    );
  });
});
