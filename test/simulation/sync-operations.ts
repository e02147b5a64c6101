/** What users do over HTTP in the sync's world. */
import { RejectionError, UnavailableError } from "@topicsync/lib/errors";
import { allowAll } from "../support/allow-all.ts";
import { UnknownTopicError, type DefinitionChange } from "../../src/topics/definition-change.ts";
import { ChangesRejectedError, changeTopic } from "../../src/topics/changing.ts";
import type { TopicStore } from "../../src/topics/stores.ts";
import type { Topic, TopicDefinition } from "../../src/topics/topic.ts";
import type { TopicService } from "../../src/topics/service.ts";
import type { SyncOracle } from "./sync-oracle.ts";
import type { SyncAction } from "./sync-steps.ts";
import { formatId, toDefinition } from "./sync-topic.ts";
import type { World } from "./world.ts";

export interface OperatedService {
  readonly topics: TopicService;
  readonly store: Pick<TopicStore, "findByExternalIds" | "findLatestRetired">;
}

export type Operation = Extract<
  SyncAction,
  { readonly do: "create" | "disable" | "enable" | "change" | "restore" | "exchange" }
>;

export const user = "admin";

/** Lets a process do what a step says, and checks what it acknowledges. */
export function operate<Service extends OperatedService>(
  action: Operation,
  world: World<Service>,
  oracle: SyncOracle,
): void {
  const { clock, server, note } = world;
  const { service, host } = world.getProcess(action.process);
  if (service === undefined) return;
  const { isReplicaSet } = server.options;
  const externalId = formatId(action.id);
  const perform = async (): Promise<void> => {
    const from = server.getLastCommit();
    switch (action.do) {
      case "create": {
        const { topic } = await service.topics.create(toDefinition(action.id, action.variant), user);
        if (isReplicaSet) oracle.operations.onCreated(topic.id, server.getMajority());
        break;
      }
      case "disable":
      case "enable":
        await changeTopic(service.topics, { kind: action.do, externalId }, { user, check: allowAll });
        onSwitched(action.do === "enable", from);
        break;
      default: {
        const changes = await prepare(action, service.store);
        const { results } = await service.topics.change(changes, { user, check: allowAll });
        if (isReplicaSet)
          for (const { topic } of results) oracle.history.onChanged(topic, server.getMajority());
      }
    }
  };
  const onSwitched = (isActive: boolean, from: number): void => {
    if (isReplicaSet) oracle.onSwitched(externalId, isActive, { from, majority: server.getMajority() });
  };
  clock.schedule(host, 0, () => {
    const end = oracle.retirements.onRequested(host, server.getLastCommit());
    perform()
      .finally(end)
      .then(
        () => {
          note(`${action.do} ${externalId}`);
        },
        (error: unknown) => {
          if (!isExpected(error)) clock.fail(error);
        },
      );
  });
}

/** What a user asks for who has read the topics first. */
async function prepare(
  action: Operation,
  { findByExternalIds, findLatestRetired }: OperatedService["store"],
): Promise<readonly DefinitionChange[]> {
  const externalId = formatId(action.id);
  const ids = action.do === "exchange" ? [externalId, formatId(action.variant)] : [externalId];
  const found = await findByExternalIds([...new Set(ids)]);
  const toChange = (topic: Topic, definition: TopicDefinition): DefinitionChange => ({
    ...{ kind: "change", externalId: topic.externalId, definition },
    expected: { version: topic.version, definition: topic },
  });
  const [one, other] = found;
  if (action.do === "exchange" && one !== undefined && other !== undefined)
    return [
      toChange(one, { ...pickDefinition(other), externalId: one.externalId }),
      toChange(other, { ...pickDefinition(one), externalId: other.externalId }),
    ];
  const wanted = toDefinition(action.id, action.variant);
  if (one !== undefined) {
    const { previous } = one;
    return [
      toChange(
        one,
        action.do === "restore" && previous ? { ...wanted, ...pickDefinition(previous) } : wanted,
      ),
    ];
  }
  const [last] = await findLatestRetired([externalId]);
  const version = last?.topic.version ?? 1;
  return action.do === "restore"
    ? [{ kind: "enable", externalId, expected: { version }, definition: wanted }]
    : [{ kind: "create", definition: wanted }];
}

export const pickDefinition = ({
  name,
  namespace,
  headerQuery,
  contentQuery,
}: Omit<TopicDefinition, "externalId">) => ({
  name,
  namespace,
  headerQuery,
  contentQuery,
});

/** Errors that users see although nothing is wrong. */
export const isExpected = (error: unknown): boolean =>
  error instanceof RejectionError ||
  error instanceof ChangesRejectedError ||
  error instanceof UnavailableError ||
  error instanceof UnknownTopicError;
