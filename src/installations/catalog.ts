import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { RejectionError } from "@topicsync/lib/errors";
import type { ApplicationView, PlatformView } from "../../schemas/catalog.ts";

/**
 * A push application (specification 2.1), identified by the name in the path of a request, or a push platform
 * (2.2), identified by the name in the body.
 */
export interface CatalogRecord {
  readonly name: string;
  readonly active: boolean;
  /** Platforms only; see token-rules.ts. A record written by another program may name an unknown rule. */
  readonly tokenRule?: string | undefined;
}

/** A change to an application or a platform; a `tokenRule` of `null` removes the rule. */
export interface CatalogChange {
  readonly active?: boolean;
  readonly tokenRule?: string | null;
}

/** Stores records with unique names. Every function throws UnavailableError. */
export interface NamedStore {
  /** Sorted by name. */
  list(): Promise<CatalogRecord[]>;
  find(name: string): Promise<CatalogRecord | undefined>;
  /** Throws NameTakenError. */
  insert(record: CatalogRecord): Promise<void>;
  /** Changes the given members. Returns false when there is no such record. */
  change(name: string, change: CatalogChange): Promise<boolean>;
}

/** The applications and platforms that tokens can be registered for. Records are never deleted. */
export type CatalogStore = Readonly<Record<"applications" | "platforms", NamedStore>>;

/** An application or a platform after a change, with the audit event of the change. */
export interface CatalogUpdate {
  readonly record: CatalogRecord;
  readonly event: AuditEvent;
}

/**
 * Manages the applications, or the platforms, for HTTP and the command line. Running services pick up a
 * change within two seconds. Every function throws UnavailableError.
 */
export type CatalogAdministration = ReturnType<typeof createCatalogAdministration>;

/** Applications and platforms have the same shape, except for a platform's token rule. */
export type CatalogKind = "application" | "platform";

export const createCatalogAdministration = (kind: CatalogKind, store: NamedStore) => ({
  list: () => store.list(),
  find: (name: string) => store.find(name),

  /** Adds an active record. Throws NameTakenError. */
  async add({ name, tokenRule }: Pick<CatalogRecord, "name" | "tokenRule">): Promise<CatalogUpdate> {
    const record = { name, active: true, ...(tokenRule === undefined ? {} : { tokenRule }) };
    await store.insert(record);
    return { record, event: toAuditEvent(kind, { verb: "added", name, tokenRule }) };
  },

  /** Returns undefined when there is no record with this name. */
  async change(name: string, change: CatalogChange): Promise<CatalogUpdate | undefined> {
    if (!(await store.change(name, change))) return undefined;
    const record = await store.find(name);
    if (record === undefined) return undefined;
    const { active, tokenRule } = change;
    const verb = active === undefined ? "changed" : active ? "enabled" : "disabled";
    return { record, event: toAuditEvent(kind, { verb, name, tokenRule }) };
  },
});

interface CatalogEvent {
  readonly verb: "added" | "changed" | "disabled" | "enabled";
  readonly name: string;
  readonly tokenRule: string | null | undefined;
}

function toAuditEvent(kind: CatalogKind, { verb, name, tokenRule }: CatalogEvent): AuditEvent {
  // An application has nothing to change but `active`.
  return kind === "platform" || verb === "changed"
    ? { action: `platform.${verb}`, platform: name, ...(tokenRule === undefined ? {} : { tokenRule }) }
    : { action: `application.${verb}`, application: name };
}

/** The JSON of an application, for HTTP and the command line. */
export const toApplicationView = ({ name, active }: CatalogRecord): ApplicationView => ({ name, active });

/** The JSON of a platform, for HTTP and the command line. */
export const toPlatformView = ({ name, active, tokenRule }: CatalogRecord): PlatformView => ({
  name,
  active,
  tokenRule: tokenRule ?? null,
});

export const createUnknownError = (kind: CatalogKind, name: string): RejectionError =>
  new RejectionError(
    kind === "application" ? "UNKNOWN_APPLICATION" : "UNKNOWN_PLATFORM",
    `There is no push ${kind} named "${name}".`,
    [{ path: `/${kind}`, message: `is not the name of a push ${kind}${findDecomposed(name)}` }],
  );

/** Such a name looks like the right one: Apple's systems write "ö" as "o" with a combining diaeresis. */
const findDecomposed = (name: string): string =>
  name.normalize("NFC") === name
    ? ""
    : "; it has letters with combining marks, and names are compared exactly: send it in Unicode's form NFC";
