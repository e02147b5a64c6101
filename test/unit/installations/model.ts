import type { InstallationWrite } from "../../../src/installations/stores.ts";

/** The parts of an installation that depend on the order of requests. */
export interface ModelRecord {
  readonly user: string;
  readonly active: boolean;
  readonly previousOwners: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
}

/** Installations by `application/platform/token`: a plain model of section 3 of the contract. */
export type Model = Map<string, ModelRecord>;

export function applyInOrder(model: Model, writes: readonly InstallationWrite[]): void {
  for (const write of writes) {
    if (write.kind === "remove") remove(model, write);
    else register(model, write);
  }
}

function register(
  model: Model,
  { key, user, previousToken, attributes }: InstallationWrite & { kind: "register" },
): void {
  const path = `${key.application}/${key.platform}/${key.token}`;
  const before = model.get(path);
  const moved = before !== undefined && before.user !== user;
  model.set(path, {
    user,
    active: true,
    previousOwners: [...(before?.previousOwners ?? []), ...(moved ? [before.user] : [])],
    attributes: attributes ?? (moved ? {} : (before?.attributes ?? {})),
  });
  if (previousToken === undefined || previousToken === key.token) return;
  const replaced = `${key.application}/${key.platform}/${previousToken}`;
  const old = model.get(replaced);
  if (old?.user === user) model.set(replaced, { ...old, active: false });
}

function remove(
  model: Model,
  { application, platform, user, token }: InstallationWrite & { kind: "remove" },
): void {
  for (const [path, record] of model) {
    if (!path.startsWith(`${application}/${platform}/`)) continue;
    if (token !== undefined && path !== `${application}/${platform}/${token}`) continue;
    if (record.user === user) model.set(path, { ...record, active: false });
  }
}
