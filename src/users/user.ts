import { roles } from "../../schemas/rights.ts";

export { roles };

export type Role = (typeof roles)[keyof typeof roles];

export const everyRole: readonly Role[] = Object.values(roles);

/** A user, without the password hash. */
export interface User {
  readonly name: string;
  readonly roles: readonly string[];
  readonly active: boolean;
  /** For a caller with an API key: the stored user with whom the key ends. */
  readonly maker?: string;
  /** For a caller with a token that names no roles: why. */
  readonly rolesFault?: string;
}

/** Whether a person is being erased; synchronous if that was read recently. Never throws. */
export type IsBeingErased = (name: string) => boolean | Promise<boolean>;

/** A caller without credentials. */
export const nobody: User = Object.freeze({ name: "", roles: [], active: false });

export interface StoredUser extends Pick<User, "name" | "roles" | "active"> {
  /** See password.ts. */
  readonly passwordHash: string;
}

/** Returns up to `limit` users, sorted by name: those after `afterName` and with the prefix, if given. */
export type UserPage = (query: {
  readonly prefix?: string | undefined;
  readonly afterName?: string | undefined;
  readonly limit: number;
}) => Promise<{ readonly users: readonly User[]; readonly hasNext: boolean }>;

/** Every function throws UnavailableError when the store does not respond. */
export interface UserStore {
  find(name: string): Promise<StoredUser | undefined>;
  readonly findPage: UserPage;
  /** Throws NameTakenError. */
  insert(user: StoredUser): Promise<void>;
  /**
   * Sets the given members; false when the user does not exist, or does not have the hash and state of
   * `expected` any more.
   */
  change(
    name: string,
    change: Partial<Pick<StoredUser, "passwordHash" | "roles" | "active">>,
    expected?: Pick<StoredUser, "passwordHash" | "active">,
  ): Promise<boolean>;
  remove(name: string): Promise<void>;
  /** Grants and revokes roles; false when the user does not exist. */
  changeRoles(
    name: string,
    change: { readonly add: readonly string[]; readonly remove: readonly string[] },
  ): Promise<boolean>;
}
