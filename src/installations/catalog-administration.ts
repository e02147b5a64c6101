import type { AuditEvent } from "../lib/audit.ts";
import type { CatalogChange, NamedStore, PushPlatform } from "./catalog.ts";

/** An application or a platform as changed, and what the audit says of the change. */
export interface ChangedName {
  readonly record: PushPlatform;
  readonly event: AuditEvent;
}

/**
 * What an administrator does with applications, or with platforms, over HTTP and on the command line alike. Running services
 * notice a change within a second or two. Every function throws UnavailableError.
 */
export interface CatalogAdministration extends Pick<NamedStore<PushPlatform>, "list" | "find"> {
  /** Adds an active one. Throws NameTakenError. */
  add(one: Pick<PushPlatform, "name" | "tokenRule">): Promise<ChangedName>;
  /** Undefined when there is none of that name. */
  change(name: string, change: CatalogChange): Promise<ChangedName | undefined>;
}

/** Applications and platforms have the same shape, but for a platform's rule. */
export type CatalogKind = "application" | "platform";

/** Makes the administration of one kind. */
export const createCatalogAdministration = (
  kind: CatalogKind,
  store: NamedStore<PushPlatform>,
): CatalogAdministration => ({
  list: () => store.list(),
  find: (name) => store.find(name),

  async add({ name, tokenRule }) {
    const record = { name, active: true, ...(tokenRule === undefined ? {} : { tokenRule }) };
    await store.insert(record);
    return { record, event: eventOf(kind, { verb: "added", name, tokenRule }) };
  },

  async change(name, change) {
    if (!(await store.change(name, change))) return undefined;
    const record = await store.find(name);
    if (record === undefined) return undefined;
    const { active, tokenRule } = change;
    const verb = active === undefined ? "changed" : active ? "enabled" : "disabled";
    return { record, event: eventOf(kind, { verb, name, tokenRule }) };
  },
});

interface CatalogEvent {
  readonly verb: "added" | "changed" | "disabled" | "enabled";
  readonly name: string;
  readonly tokenRule: string | null | undefined;
}

function eventOf(kind: CatalogKind, { verb, name, tokenRule }: CatalogEvent): AuditEvent {
  // Only platforms have something that can be changed beside whether they are active.
  return kind === "platform" || verb === "changed"
    ? { action: `platform.${verb}`, platform: name, ...(tokenRule === undefined ? {} : { tokenRule }) }
    : { action: `application.${verb}`, application: name };
}
