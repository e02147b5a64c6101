/** What users do over HTTP in the sync's world. */
import { RejectionError, UnavailableError } from "../../src/lib/errors.ts";
import { UnknownTopicError } from "../../src/topics/disabling.ts";
import type { TopicService } from "../../src/topics/service.ts";
import type { SyncOracle } from "./sync-oracle.ts";
import type { SyncAction } from "./sync-steps.ts";
import { formatId, toDefinition } from "./sync-topic.ts";
import type { World } from "./world.ts";

interface OperatedService {
  readonly topics: TopicService;
}

export type Operation = Extract<SyncAction, { readonly do: "create" | "disable" | "enable" }>;

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
        const { topic } = await service.topics.create(toDefinition(action.id, action.variant), "admin");
        if (isReplicaSet) oracle.onCreated(topic.id, server.getMajority());
        break;
      }
      case "disable":
        await service.topics.disable(externalId, "admin");
        onSwitched(false, from);
        break;
      case "enable":
        await service.topics.enable(externalId);
        onSwitched(true, from);
        break;
    }
  };
  const onSwitched = (isActive: boolean, from: number): void => {
    if (isReplicaSet) oracle.onSwitched(externalId, isActive, { from, majority: server.getMajority() });
  };
  clock.schedule(host, 0, () => {
    perform().then(
      () => {
        note(`${action.do} ${externalId}`);
      },
      (error: unknown) => {
        if (!isExpected(error)) clock.fail(error);
      },
    );
  });
}

/** Errors that users see although nothing is wrong. */
const isExpected = (error: unknown): boolean =>
  error instanceof RejectionError || error instanceof UnavailableError || error instanceof UnknownTopicError;
