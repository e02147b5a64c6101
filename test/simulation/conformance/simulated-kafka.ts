import { createClock, createHost, type Clock, type Host } from "../clock.ts";
import { createKafkaBroker, topicAbsenceMs } from "../kafka/broker.ts";
import { createKafkaClient } from "../kafka/client.ts";
import { createNetwork } from "../network.ts";
import { createRandom } from "../random.ts";
import type { KafkaUnderTest, TestRecord } from "./kafka-under-test.ts";

const startOfTime = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;
const pollIntervalMs = 10;
const limitMs = 600_000;

/** Runs a scene against a simulated Kafka, whose fetches and network follow from the seed. */
export async function runSimulated<T>(
  { seed, partitions }: { readonly seed: number; readonly partitions: number },
  scene: (kafka: KafkaUnderTest) => Promise<T>,
): Promise<T> {
  const outside = createHost("scene");
  const clock = createClock(outside);
  const random = createRandom(seed);
  const brokerHost = createHost("broker");
  const network = createNetwork(clock, random);
  const broker = createKafkaBroker(
    { clock, random, host: brokerHost },
    { partitions, maxOffsetsPerFetch: 6 },
  );
  const createClient = (host: Host) =>
    createKafkaClient({
      ...{ clock, network, broker, host },
      onDelivered: () => undefined,
      onSending: () => undefined,
    });
  const { watch, deadLetters } = createClient(createHost("queries"));
  const stamp = (records: readonly TestRecord[]) =>
    records.map(({ value, at = 0 }) => ({ key: null, value, timestamp: startOfTime + at }));
  const getMarkerTime = (): number => startOfTime + hourMs + Math.floor(clock.getTime());
  const members: Host[] = [];

  const kafka: KafkaUnderTest = {
    startOfTime,
    topic: broker.topic,
    watch,
    createMember() {
      const host = createHost(`member ${members.length}`);
      members.push(host);
      return createClient(host).createMember();
    },
    send: deadLetters.send,
    append(partition, records) {
      broker.getLog(partition).append(stamp(records));
      broker.notify();
      return Promise.resolve();
    },
    begin: (partition) =>
      Promise.resolve({
        append(records) {
          broker.getLog(partition).append(stamp(records), "leave open");
          broker.notify();
          return Promise.resolve();
        },
        end(commit) {
          broker.getLog(partition).endTransaction(getMarkerTime(), commit);
          broker.notify();
          return Promise.resolve();
        },
      }),
    deleteBefore(partition, offset) {
      broker.getLog(partition).truncate(offset);
      return Promise.resolve();
    },
    async recreate() {
      broker.recreate();
      await new Promise<void>((resolve) => {
        clock.schedule(outside, topicAbsenceMs, resolve);
      });
    },
    setConnected(isConnected) {
      if (isConnected) network.heal();
      // The requests of a batch that a scene handles come from outside.
      else for (const from of [outside, ...members]) network.cut(from, brokerHost, limitMs);
    },
    async until(what, isMet) {
      const end = clock.getTime() + limitMs / 2;
      while (!(await isMet())) {
        if (clock.getTime() > end) throw new Error(`simulation: gave up waiting until ${what}`);
        await new Promise<void>((resolve) => {
          clock.schedule(outside, pollIntervalMs, resolve);
        });
      }
    },
  };

  return playScene(clock, outside, () => scene(kafka));
}

/** Lets the time of a scene pass until it ends. */
export async function playScene<T>(clock: Clock, outside: Host, scene: () => Promise<T>): Promise<T> {
  const progress = { isDone: false };
  const outcome = scene().finally(() => {
    progress.isDone = true;
  });
  // Reported below, after the clock has stopped.
  outcome.catch(() => undefined);
  // The clock stops when nothing is scheduled, although the scene may still go on.
  const tick = (): void => void clock.schedule(outside, pollIntervalMs, tick);
  tick();
  await clock.runUntil(limitMs, () => progress.isDone);
  if (!progress.isDone) throw new Error("simulation: the scene does not end");
  return outcome;
}
