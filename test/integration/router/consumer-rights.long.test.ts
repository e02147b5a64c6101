import assert from "node:assert/strict";
import { it } from "node:test";

import kafkajs from "kafkajs";

import type { TopicConsumersView } from "../../../schemas/topic-consumers.ts";
import {
  DESCRIBE,
  GROUP,
  LITERAL,
  PREFIXED,
  readAnnouncements,
  readDeadLetters,
  stageWithRights,
  TOPIC,
  useGroups,
  writeDeadLetters,
  WRITE,
} from "../../support/access-rules.ts";
import { commitOffsets } from "../../support/consumer-groups.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { definition } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";

const { AclPermissionTypes, AclResourceTypes } = kafkajs;
const { admin, kafka, grant, createSceneAs } = await stageWithRights(["watches"]);

it("consumers without the right to see them are named by the right that is missing", async () => {
  const egress = unique("egress");
  const at = await createSceneAs("watches", (one) => [
    readAnnouncements(one),
    readDeadLetters(one),
    writeDeadLetters(one),
    useGroups(one),
    { type: TOPIC, name: egress, operations: [WRITE] },
  ]);
  await createKafkaTopics(admin, { topic: egress, numPartitions: 1 });
  await commitOffsets(
    kafka,
    ["first", "second"].map((groupId) => ({ groupId, topic: egress, offset: 0 })),
  );
  const settings = { ...at.asUser, KAFKA_EVENTS_TOPIC: unique("events"), KAFKA_EGRESS_TOPIC: egress };
  const { name, externalId } = definition();
  const added = await runCli(["topics", "add", "--name", name, "--external-id", externalId], settings);
  assert.equal(added.code, 0, added.errors);

  async function observe() {
    const { code, output, errors } = await runCli(["topics", "consumers", externalId, "--json"], settings);
    assert.equal(code, 0, errors);
    const { observed } = JSON.parse(output) as TopicConsumersView;
    return { groups: observed.groups.map(({ group }) => group), problems: observed.problems };
  }

  assert.deepEqual(await observe(), {
    groups: [],
    problems: [
      "Kafka denies its user Describe on the cluster, and lists only the groups on which the user has Describe",
    ],
  });
  await grant("watches", [{ type: GROUP, name: "first", operations: [DESCRIBE] }]);
  const partly = await observe();
  assert.deepEqual([partly.groups, partly.problems.length], [["first"], 1]);
  await admin.createAcls({
    acl: [
      {
        ...{ resourceType: AclResourceTypes.CLUSTER, resourceName: "kafka-cluster", host: "*" },
        ...{ resourcePatternType: LITERAL, principal: "User:watches" },
        ...{ operation: DESCRIBE, permissionType: AclPermissionTypes.ALLOW },
      },
    ],
  });
  assert.deepEqual(await observe(), {
    groups: ["first"],
    problems: ['group "second": Kafka denies its user Describe on the group (GROUP_AUTHORIZATION_FAILED)'],
  });
  await grant("watches", [{ type: GROUP, name: "se", pattern: PREFIXED, operations: [DESCRIBE] }]);
  assert.deepEqual(await observe(), { groups: ["first", "second"], problems: [] });
});
