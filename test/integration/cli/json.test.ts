import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { exitCodes } from "@topicsync/lib/errors";
import { createSchemaCompiler } from "@topicsync/lib/validation";
import { keyListSchema } from "../../../schemas/api-key.ts";
import { applicationListSchema, platformListSchema, platformSchema } from "../../../schemas/catalog.ts";
import { deadLetterItemSchema, deadLetterSchema } from "../../../schemas/dead-letters/dead-letter.ts";
import { installationViewSchema } from "../../../schemas/installations/view.ts";
import { syncStatusSchema } from "../../../schemas/sync-status.ts";
import { topicSetListSchema } from "../../../schemas/topics/sets.ts";
import { topicDetailSchema, topicViewSchema } from "../../../schemas/topics/view.ts";
import { userListSchema, userSchema } from "../../../schemas/user.ts";
import { ensureIndexes } from "../../../src/storage/indexes.ts";
import { deadLetterMessage, prove } from "../../support/dead-letters.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { stage } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";

const { admin, producer, scene } = stage();
const { settings, db, topic, deadLetterTopic } = scene();

async function run(args: readonly string[], input = "", expected: number = exitCodes.ok): Promise<string> {
  const { code, output, errors } = await runCli(args, settings, input);
  assert.equal(code, expected, errors);
  return output;
}

/** Commands whose JSON has the schema of an HTTP response; `isList` if they print one object per line. */
const commands: readonly {
  args: readonly string[];
  schema: object;
  isList?: true;
  input?: string;
  code?: number;
}[] = [
  { args: ["users", "add", "ann", "--role", "push_admin"], schema: userSchema, input: "a password\n" },
  { args: ["users", "show", "ann"], schema: userSchema },
  { args: ["users", "disable", "ann"], schema: userSchema },
  { args: ["users", "list"], schema: userListSchema },
  { args: ["keys", "list"], schema: keyListSchema },
  { args: ["topics", "sets"], schema: topicSetListSchema },
  { args: ["applications", "list"], schema: applicationListSchema },
  { args: ["platforms", "list"], schema: platformListSchema },
  { args: ["platforms", "rule", "ios", "apns"], schema: platformSchema },
  { args: ["topics", "list"], schema: topicViewSchema, isList: true },
  { args: ["topics", "list", "--state", "disabled"], schema: topicViewSchema, isList: true },
  { args: ["topics", "show", "first"], schema: topicDetailSchema },
  { args: ["topics", "show", "second"], schema: topicDetailSchema },
  { args: ["topics", "disable", "first"], schema: topicDetailSchema },
  { args: ["topics", "enable", "first"], schema: topicDetailSchema },
  { args: ["topics", "describe", "first", "--owner", "ann"], schema: topicDetailSchema },
  { args: ["topics", "list", "--owner", "ann"], schema: topicViewSchema, isList: true },
  { args: ["installations", "list"], schema: installationViewSchema, isList: true },
  { args: ["installations", "list", "--full-tokens"], schema: installationViewSchema, isList: true },
  { args: ["dead-letters", "list"], schema: deadLetterItemSchema, isList: true },
  { args: ["dead-letters", "show", `${topic}-0-7`], schema: deadLetterSchema },
  // No service runs.
  { args: ["status"], schema: syncStatusSchema, code: exitCodes.unavailable },
];

describe("--json", () => {
  before(async () => {
    await ensureIndexes(db);
    await createKafkaTopics(admin, { topic, numPartitions: 1 }, { topic: deadLetterTopic, numPartitions: 1 });
    const named = (name: string) => ({ _id: `id of ${name}` as never, name, active: true });
    await db.collection("sys_push_application").insertOne(named("agent"));
    await db.collection("sys_push_platform").insertOne(named("ios"));
    await db
      .collection<InstallationRecord>("sys_push_notif_app_install")
      .insertMany([
        installation("0123456789abcdef0123456789abcdef"),
        installation("gone", { active: false, deactivated_reason: "Unregistered" }),
      ]);
    await producer.send({
      topic: deadLetterTopic,
      messages: await prove(db, deadLetterTopic, [
        deadLetterMessage({ topic, partition: 0, offset: 7 }, { value: "{", key: "first", time: Date.now() }),
        deadLetterMessage({ topic, partition: 0, offset: 8 }, { value: null }),
        { value: Buffer.from([0xff]), headers: {} },
      ]),
    });
    await run(["topics", "add", "--external-id", "first", "--name", "First"]);
    await run(["topics", "add", "--external-id", "second", "--name", "Second"]);
    await run(["topics", "disable", "second"]);
    await run(["dead-letters", "replay", `${topic}-0-7`, "--yes"]);
  });

  for (const { args, schema, isList, input, code } of commands) {
    it(`of ${args.join(" ")} has the schema of the HTTP API`, async () => {
      const output = await run([...args, "--json"], input, code);
      const texts = isList ? output.trimEnd().split("\n") : [output];
      const validate = createSchemaCompiler({}).compile(schema);
      for (const text of texts)
        assert.ok(validate(JSON.parse(text)), `${text}\n${JSON.stringify(validate.errors)}`);
    });
  }
});
