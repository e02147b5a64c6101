/** Push feedback of a broker, and the installations that it is about. */
import { ensureIndexes } from "../../src/storage/indexes.ts";
import type { InstallationRecord } from "./installations.ts";
import { createKafkaTopics } from "./kafka-topics.ts";
import { unique } from "./names.ts";
import { until } from "./poll.ts";
import { stage } from "./scene.ts";
import { runCli } from "./service.ts";

/** Connects to the shared broker for the tests of a file. */
export function feedbackStage() {
  const { stack, admin, producer, scene } = stage();

  /** A scene with a topic of push feedback. */
  function createFeedbackScene() {
    const topic = unique("feedback");
    const {
      db,
      settings,
      positions,
      start,
      key: announcements,
    } = scene({
      KAFKA_PUSH_FEEDBACK_TOPIC: topic,
      PUSH_APPLICATIONS: "agent,other",
      PUSH_PLATFORMS: "ios,android",
    });
    const installations = db.collection<InstallationRecord>("sys_push_notif_app_install");
    const key = { group: `${announcements.group}.push-feedback`, topic, partition: 0 };

    async function report(...values: (string | object)[]): Promise<number> {
      const messages = values.map((value) => ({
        value: typeof value === "string" ? value : JSON.stringify(value),
      }));
      const [metadata] = await producer.send({ topic, messages });
      return Number(metadata?.baseOffset);
    }
    const applied = () =>
      until("every report is applied", async () => {
        const [end] = await admin.fetchTopicOffsets(topic);
        return (await positions.findOne({ _id: key }))?.next_offset === Number(end?.high);
      });

    return {
      db,
      settings,
      start,
      topic,
      installations,
      positions,
      key,
      /** Creates the topic and the indexes like the service, before the test inserts many records. */
      prepare: async (): Promise<void> => {
        await ensureIndexes(db);
        await createKafkaTopics(admin, { topic, numPartitions: 1 });
      },
      report,
      applied,
      find: (token: string) => installations.findOne({ token, application: "agent" }),
      countInactive: () => installations.countDocuments({ active: false }),
      countDeadLetters: async (): Promise<number> => {
        const [offsets] = await admin.fetchTopicOffsets(`${topic}.dead-letter`);
        return Number(offsets?.high);
      },
      cli: (...args: string[]) => runCli(args, settings),
    };
  }

  return { stack, createFeedbackScene };
}

export const createReport = (token: string, more: object = {}) => ({
  platform: "ios",
  token,
  reason: "Unregistered",
  ...more,
});
