import assert from "node:assert/strict";

import kafkajs from "kafkajs";

import { aclPassword, startAclBroker } from "./acl-broker.ts";
import { stage, type Scene } from "./scene.ts";
import { sharedStack } from "./stack.ts";

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
export const { CREATE, DESCRIBE, READ, WRITE } = AclOperationTypes;
export const { TOPIC, GROUP, TRANSACTIONAL_ID } = AclResourceTypes;
export const { LITERAL, PREFIXED } = ResourcePatternTypes;

export interface Right {
  readonly type: typeof TOPIC | typeof GROUP | typeof TRANSACTIONAL_ID;
  readonly name: string;
  readonly pattern?: typeof LITERAL | typeof PREFIXED;
  readonly operations: readonly (typeof CREATE | typeof DESCRIBE | typeof READ | typeof WRITE)[];
}

export const createBothTopics = ({ createTopic, createDeadLetterTopic }: Scene) =>
  Promise.all([createTopic(), createDeadLetterTopic()]);

export const readAnnouncements = ({ topic }: Scene): Right => ({
  type: TOPIC,
  name: topic,
  operations: [READ],
});
export const readDeadLetters = ({ deadLetterTopic: name }: Scene): Right => ({
  type: TOPIC,
  name,
  operations: [READ],
});
export const writeDeadLetters = ({ deadLetterTopic: name }: Scene): Right => ({
  type: TOPIC,
  name,
  operations: [WRITE],
});
export const useGroups = ({ key: { group: name } }: Scene): Right => ({
  type: GROUP,
  name,
  pattern: PREFIXED,
  operations: [READ],
});

/** A broker with these users, and scenes whose services are one of them. For one test file. */
export async function stageWithRights(users: readonly string[]) {
  const broker = await startAclBroker(users);
  const { kafka, admin, producer, scene } = stage({ ...sharedStack(), kafka: broker.address });

  /** Grants rights to a user. */
  async function grant(user: string, rights: readonly Right[]): Promise<void> {
    const acl = rights.flatMap(({ type, name, pattern = LITERAL, operations }) =>
      operations.map((operation) => ({
        resourceType: type,
        resourceName: name,
        resourcePatternType: pattern,
        principal: `User:${user}`,
        host: "*",
        operation,
        permissionType: AclPermissionTypes.ALLOW,
      })),
    );
    await admin.createAcls({ acl });
  }

  async function revoke(user: string, { type, name, operations }: Right): Promise<void> {
    const filters = operations.map((operation) => ({
      resourceType: type,
      resourceName: name,
      resourcePatternType: LITERAL,
      principal: `User:${user}`,
      operation,
      permissionType: AclPermissionTypes.ALLOW,
    }));
    const { filterResponses } = await admin.deleteAcls({ filters });
    assert.ok(filterResponses.every(({ matchingAcls }) => matchingAcls.length === 1));
  }

  /** A scene whose `asUser` are the settings of a service that is this user, with these rights. */
  async function createSceneAs(
    user: string,
    rightsIn: (at: Scene) => readonly Right[],
  ): Promise<Scene & { readonly asUser: Record<string, string> }> {
    const at = scene();
    await grant(user, rightsIn(at));
    const asUser = {
      ...at.settings,
      KAFKA_BROKERS: broker.guarded,
      KAFKA_SASL_MECHANISM: "plain",
      KAFKA_SASL_USERNAME: user,
      KAFKA_SASL_PASSWORD: aclPassword,
    };
    return { ...at, asUser };
  }

  return { kafka, admin, producer, grant, revoke, createSceneAs };
}
