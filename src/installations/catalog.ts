/** A push application (specification 2.1), by the name that stands in the path of a request. */
export interface PushApplication {
  readonly name: string;
  readonly active: boolean;
}

/** A push platform (specification 2.2), by the name that stands in the body of a request. */
export interface PushPlatform {
  readonly name: string;
  readonly active: boolean;
  /** See token-rules.ts; a record that somebody else wrote may carry a rule that nobody knows. */
  readonly tokenRule?: string | undefined;
}

/** What can be changed of an application or a platform; `null` takes a platform's rule away. */
export interface CatalogChange {
  readonly active?: boolean;
  readonly tokenRule?: string | null;
}

/** Where records with names of their own are kept. Every function throws UnavailableError while the store does not answer. */
export interface NamedStore<T extends PushApplication> {
  /** By name. */
  list(): Promise<T[]>;
  find(name: string): Promise<T | undefined>;
  /** Throws NameTakenError. */
  insert(record: T): Promise<void>;
  /** Changes the members that are given; false when there is no such record. */
  change(name: string, change: CatalogChange): Promise<boolean>;
  /** Makes sure that these names exist, active; those that do are left as they are. */
  ensure(names: readonly string[]): Promise<void>;
}

/** The applications and platforms that tokens can be registered for. */
export interface CatalogStore {
  readonly applications: NamedStore<PushApplication>;
  readonly platforms: NamedStore<PushPlatform>;
}
