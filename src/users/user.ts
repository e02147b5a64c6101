import { roles } from "../../schemas/roles.ts";

export { roles };

export type Role = (typeof roles)[keyof typeof roles];

export const everyRole: readonly Role[] = Object.values(roles);

/** A user, without the password's hash. */
export interface User {
  readonly name: string;
  readonly roles: readonly string[];
  readonly active: boolean;
}

/** A user as it is stored. */
export interface StoredUser extends User {
  /** See password.ts. */
  readonly passwordHash: string;
}

/** Gives some users by name: at most `limit` behind the name `after`, only those whose name begins with `prefix`. */
export type UserPage = (query: {
  readonly prefix?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}) => Promise<User[]>;

/** Where users are kept. Every function throws UnavailableError while the store does not answer. */
export interface UserStore {
  find(name: string): Promise<StoredUser | undefined>;
  list(): Promise<User[]>;
  readonly page: UserPage;
  /** Throws NameTakenError. */
  insert(user: StoredUser): Promise<void>;
  /** Changes the members that are given; false when there is no such user. */
  change(
    name: string,
    change: Partial<Pick<StoredUser, "passwordHash" | "roles" | "active">>,
  ): Promise<boolean>;
  /** Gives a user some roles and takes others away; false when there is no such user. */
  changeRoles(
    name: string,
    change: { readonly add: readonly string[]; readonly remove: readonly string[] },
  ): Promise<boolean>;
}
