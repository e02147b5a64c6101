/** What users do who change several topics at once, in the sync's world. */
import { allowAll } from "../support/allow-all.ts";
import type { DefinitionChange } from "../../src/topics/definition-change.ts";
import type { ApplyAction, SentChange } from "./sync-apply-steps.ts";
import type { WantedChange } from "./sync-operation-oracle.ts";
import { isExpected, pickDefinition, user, type OperatedService } from "./sync-operations.ts";
import type { SyncOracle } from "./sync-oracle.ts";
import { formatId, toDefinition } from "./sync-topic.ts";
import type { World } from "./world.ts";

interface Apply {
  readonly process: number;
  readonly name: string;
  readonly changes: readonly SentChange[];
}

/** Lets processes make the changes of a step, and checks what they acknowledge. */
export function applyChanges<Service extends OperatedService>(
  { process, changes, rival }: ApplyAction,
  name: string,
  world: World<Service>,
  oracle: SyncOracle,
): void {
  applyPlan({ process, changes, name }, world, oracle);
  if (rival.length > 0)
    applyPlan({ process: 1 - process, changes: rival, name: `${name} of a rival` }, world, oracle);
}

function applyPlan<Service extends OperatedService>(
  { process, name, changes }: Apply,
  world: World<Service>,
  oracle: SyncOracle,
): void {
  const { clock, server, note } = world;
  const { service, host } = world.getProcess(process);
  if (service === undefined) return;
  const { isReplicaSet } = server.options;
  const perform = async (): Promise<void> => {
    const from = server.getLastCommit();
    const wanted = await prepare(changes, service.store);
    if (wanted.length === 0) return;
    oracle.operations.onPlanned(name, wanted, from);
    const { results } = await service.topics.change(
      wanted.map(({ change }) => change),
      { user, check: allowAll, label: { set: "simulated", plan: name } },
    );
    note(`${name} ${results.map(({ outcome }) => outcome).join(" ")}`);
    if (!isReplicaSet) return;
    const majority = server.getMajority();
    if (results.some(({ outcome }) => outcome !== "unchanged")) oracle.operations.onApplied(name, majority);
    for (const { topic } of results) oracle.history.onChanged(topic, majority);
  };
  clock.schedule(host, 0, () => {
    const end = oracle.retirements.onRequested(host, server.getLastCommit());
    perform()
      .finally(end)
      .catch((error: unknown) => {
        if (!isExpected(error)) clock.fail(error);
      });
  });
}

/** What a user asks for who has read the topics first, and changes those that can be changed. */
async function prepare(
  changes: readonly SentChange[],
  { findByExternalIds, findLatestRetired }: OperatedService["store"],
): Promise<readonly WantedChange[]> {
  const ids = changes.map(({ id }) => formatId(id));
  const found = new Map((await findByExternalIds(ids)).map((topic) => [topic.externalId, topic]));
  const retired = await findLatestRetired(ids);
  const disabled = new Map(retired.map(({ topic }) => [topic.externalId, topic]));
  return changes.flatMap(({ kind, id, variant, to }): WantedChange[] => {
    const externalId = formatId(id);
    const definition = toDefinition(id, variant);
    if (kind === "create") return [{ change: { kind, definition }, sysId: undefined }];
    const topic = kind === "enable" ? disabled.get(externalId) : found.get(externalId);
    if (topic === undefined || (topic.source.kind === "announcement" && kind !== "enable")) return [];
    const expected = { version: topic.version, definition: topic };
    const toChange = (): DefinitionChange => {
      if (kind === "disable" || kind === "enable") return { kind, externalId, expected };
      const next = kind === "rename" ? { ...pickDefinition(topic), externalId: formatId(to) } : definition;
      return { kind: "change", externalId, expected, definition: next };
    };
    return [{ change: toChange(), sysId: topic.id }];
  });
}
