import type { InstallationWrite } from "../../../src/installations/stores.ts";

/** What is kept of a token, as far as the order of requests decides it. */
export interface ModelRecord {
  readonly user: string;
  readonly active: boolean;
  readonly previousOwners: readonly string[];
}

/** The tokens by `application/platform/token`: the contract's section 3 written down as plainly as possible. */
export type Model = Map<string, ModelRecord>;

/** Applies requests one after another. */
export function applyInOrder(model: Model, writes: readonly InstallationWrite[]): void {
  for (const write of writes) {
    if (write.kind === "remove") remove(model, write);
    else register(model, write);
  }
}

function register(
  model: Model,
  { key, user, previousToken }: InstallationWrite & { kind: "register" },
): void {
  const at = `${key.application}/${key.platform}/${key.token}`;
  const before = model.get(at);
  const moved = before !== undefined && before.user !== user;
  model.set(at, {
    user,
    active: true,
    previousOwners: [...(before?.previousOwners ?? []), ...(moved ? [before.user] : [])],
  });
  if (previousToken === undefined || previousToken === key.token) return;
  const replaced = `${key.application}/${key.platform}/${previousToken}`;
  const old = model.get(replaced);
  if (old?.user === user) model.set(replaced, { ...old, active: false });
}

function remove(model: Model, { application, platform, user }: InstallationWrite & { kind: "remove" }): void {
  for (const [at, record] of model) {
    if (!at.startsWith(`${application}/${platform}/`)) continue;
    if (record.user === user) model.set(at, { ...record, active: false });
  }
}
