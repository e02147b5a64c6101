import { createKafkaTopics } from "../../../support/kafka-topics.ts";
import { pause } from "../../../support/poll.ts";
import { getMetric } from "../../../support/scene.ts";
import { createRandom } from "../../../support/random.ts";
import { acceptAnyTimestamp, keepEveryRecord, type Environment } from "../environment.ts";
import { moveHeader } from "../generator.ts";
import { readLog, readLogEnds, type LogEntry } from "../log.ts";
import { watchCommittedOffsets } from "../positions.ts";
import { abortedHeader, checkAcknowledged, createInputProducer } from "../producer.ts";
import {
  endLog,
  startScene,
  stopInstances,
  waitUntilApplied,
  type Scene,
  type SceneOptions,
  type Subject,
} from "../scene.ts";
import { runWorkload } from "../workload.ts";
import { createEventGenerator } from "./generator.ts";
import { createGrowth, type Growth } from "./growth.ts";
import { createHistory, type History } from "./history.ts";
import { createEventOracle, type EventCounts, type EventOracle } from "./oracle.ts";
import { createTopicGenerator } from "./topics.ts";
import { createVersions, type Versions } from "./versions.ts";
import { popularType, unwantedType } from "./vocabulary.ts";

export interface EventChaosOptions extends SceneOptions {
  readonly events: number;
  readonly topics: number;
  /** Whether topics are announced, changed and retired during the run. */
  readonly changesTopics: boolean;
}

export interface EventChaosResult {
  /** Descriptions of the differences from the oracle. */
  readonly differences: readonly string[];
  readonly counts: EventCounts;
  /** Announcements of topics by their kind. */
  readonly announcements: Versions["announcements"];
  readonly requests: ReadonlyMap<string, number>;
  /** How many partitions each Kafka topic has in the end. */
  readonly partitions: ReadonlyMap<string, number>;
  readonly stack: string;
}

const names = {
  topic: "events",
  group: "chaos.router",
  egress: "egress",
  deadLetterTopic: "event-letters",
} as const;
const egressPartitions = 3;
const deadLetterPartitions = 2;

/** How many events there are for each change of a topic. */
const eventsPerChange = 20;
/** Instances are busy, and read changes again after an outage of the store. */
const propagationMs = 10_000;
const refreshIntervalMs = 100;
/** Marks the last record of each partition of the output. */
const endHeader = "chaos-end";

/**
 * Sends events and injects faults, waits until everything is forwarded, stops the service and compares the
 * output with the oracle's. Throws if an instance exits unexpectedly or the time is over.
 */
export async function runEventChaos(options: EventChaosOptions): Promise<EventChaosResult> {
  const { partitions, events, topics, changesTopics } = options;
  await using started = new AsyncDisposableStack();
  const scene = await startScene(options, started, (environment) => prepare(environment, options));
  const { growth } = scene.subject;
  const { environment, input, deadline, injector, random } = scene;
  const { kafka, announcements } = environment;
  const topicGenerator = createTopicGenerator(random.fork(), { topics, partitions });
  const eventGenerator = createEventGenerator(random.fork(), {
    topics,
    countPartitions: () => input.partitions,
  });
  const announcer = await createInputProducer(
    kafka,
    {
      topic: announcements.topic,
      createHarmfulValue: (index, padding) =>
        JSON.stringify({ externalId: `aborted/${index}`, name: padding || "no" }),
      last: { key: "never/last", value: null, headers: { [moveHeader]: "last" } },
    },
    random.fork(),
  );
  started.defer(announcer.close);
  const producer = await createInputProducer(
    kafka,
    {
      topic: input.topic,
      createHarmfulValue: (index, padding) =>
        JSON.stringify({ eventId: `aborted ${index}`, eventType: popularType, event: { padding } }),
      last: {
        key: null,
        value: JSON.stringify({ eventType: unwantedType }),
        headers: { [moveHeader]: "last" },
      },
    },
    random.fork(),
  );
  started.defer(producer.close);
  const announce = (records: Parameters<typeof announcer.send>[0]): Promise<void> =>
    announcer.send(records, () => {
      deadline.check("the broker takes announcements");
    });

  injector.start();
  await announce(topicGenerator.createAll());
  await waitUntilApplied(scene, announcements, await endLog(scene, announcements, announcer));
  // Its index has them a little after the store.
  await deadline.waitUntil("the only instance knows the topics", async () => {
    const url = scene.instances.running()[0]?.url();
    return url !== undefined && (await getMetric({ url }, "topicsync_picker_topics")) === topics;
  });
  const applied = createHistory(announcements);
  const forwarded = createHistory(input);
  await applied.refresh();
  // The only instance has applied them itself.
  const settledAt = Date.now();

  const following = new AbortController();
  const followed = follow([applied, forwarded], following.signal);
  try {
    let changes = 0;
    await runWorkload(
      { ...options, records: events },
      {
        input,
        deadline,
        take: eventGenerator.take,
        producer,
        injector,
        random: random.fork(),
        async afterSend(sent) {
          const due = changesTopics ? Math.floor(sent / eventsPerChange) : 0;
          if (due > changes) await announce(topicGenerator.takeChanges(due - changes));
          changes = due;
        },
      },
    );
    const ends = await endLog(scene, input, producer);
    const announcementEnds = await endLog(scene, announcements, announcer);
    await injector.settle();
    await waitUntilApplied(scene, announcements, announcementEnds);
    await waitUntilApplied(scene, input, ends, (total) => {
      options.progress(Math.min(total, events));
    });
    await stopInstances(scene);
  } finally {
    following.abort();
    await followed;
  }

  const versions = createVersions({ history: applied, settledAt, propagationMs });
  const { topic, egress, deadLetterTopic } = names;
  const oracle = createEventOracle({ topic, egress, deadLetterTopic, history: forwarded, versions, growth });
  await deadline.waitFor("the logs are read", compare(scene, versions, oracle));
  return {
    differences: oracle.findDifferences(),
    counts: oracle.counts,
    announcements: versions.announcements,
    requests: producer.requests,
    partitions: new Map([topic, egress, deadLetterTopic].map((name) => [name, growth.count(name)])),
    stack: environment.stack,
  };
}

async function prepare(
  { admin }: Environment,
  { seed, partitions }: EventChaosOptions,
): Promise<Subject & { readonly growth: Growth }> {
  const { topic, group, egress, deadLetterTopic } = names;
  const anyTimestamp = [...keepEveryRecord, ...acceptAnyTimestamp];
  await createKafkaTopics(
    admin,
    { topic, numPartitions: partitions, configEntries: anyTimestamp },
    { topic: egress, numPartitions: egressPartitions, configEntries: anyTimestamp },
    // It rejects odd timestamps, so that some dead letters are sent again without them.
    { topic: deadLetterTopic, numPartitions: deadLetterPartitions, configEntries: keepEveryRecord },
  );
  const positions = watchCommittedOffsets(admin, { groupId: group, topic });
  const growth = createGrowth(admin, createRandom(seed), {
    [topic]: partitions,
    [egress]: egressPartitions,
    [deadLetterTopic]: deadLetterPartitions,
  });
  return {
    growth,
    addPartitions: growth.addPartitions,
    input: {
      topic,
      group,
      positions,
      get partitions() {
        return growth.count(topic);
      },
    },
    settings: {
      KAFKA_EVENTS_TOPIC: topic,
      KAFKA_EVENTS_GROUP_ID: group,
      KAFKA_EVENTS_DEAD_LETTER_TOPIC: deadLetterTopic,
      KAFKA_EGRESS_TOPIC: egress,
    },
  };
}

/** Reads the positions again and again, so that the histories are exact. */
async function follow(histories: readonly History[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await Promise.all(histories.map((history) => history.refresh()));
    await pause(refreshIntervalMs);
  }
}

/** Reads all logs, the input before the output. */
async function compare(
  { environment, input, deadline }: Scene,
  versions: Versions,
  oracle: EventOracle,
): Promise<void> {
  const { announcements } = environment;
  const read = async (topic: string, take: (entry: LogEntry) => void): Promise<void> => {
    const ends = await deadline.waitUntil(`${topic} is ended`, () => endPartitions(environment, topic));
    await readCommitted(environment, { topic, ends }, take);
  };
  await read(announcements.topic, versions.take);
  await read(input.topic, oracle.takeEvent);
  await read(names.egress, oracle.takeCopy);
  await read(names.deadLetterTopic, oracle.takeLetter);
}

/**
 * Ends each partition with a record, and returns the offsets after these: a reader would wait for one after
 * the marker of the last transaction.
 */
async function endPartitions({ admin, kafka }: Environment, topic: string): Promise<Map<number, number>> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  try {
    await producer.connect();
    const partitions = [...(await readLogEnds(admin, topic)).keys()];
    const headers = { [endHeader]: "true" };
    const messages = partitions.map((partition) => ({ partition, value: null, headers }));
    const written = await producer.send({ topic, acks: -1, messages });
    checkAcknowledged(messages, written);
    return new Map(written.map(({ partition, baseOffset }) => [partition, Number(baseOffset) + 1]));
  } finally {
    await producer.disconnect();
  }
}

async function readCommitted(
  { kafka }: Environment,
  { topic, ends }: { readonly topic: string; readonly ends: ReadonlyMap<number, number> },
  take: (entry: LogEntry) => void,
): Promise<void> {
  await readLog(kafka, { topic, ends }, (entry) => {
    if (endHeader in entry.headers) return;
    if (abortedHeader in entry.headers) throw new Error(`a record of an aborted transaction is in ${topic}`);
    take(entry);
  });
}
