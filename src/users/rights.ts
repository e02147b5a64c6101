import { isGrant, rights, rightsOfRole, type Right } from "../../schemas/rights.ts";
import type { User } from "./user.ts";

export { rights, type Right };

/** A namespace, or also those below it, separated by dots. */
export interface NamespaceRange {
  readonly namespace: string;
  readonly below: boolean;
}

/** Where a right holds; "all" includes what has no namespace, or whose namespace is unknown. */
export type Namespaces = "all" | readonly NamespaceRange[];

type Holder = Pick<User, "roles">;

const none: readonly NamespaceRange[] = [];

/** By `roles`: users are cached, and each request asks several times. */
const parsed = new WeakMap<readonly string[], ReadonlyMap<string, Namespaces>>();

/** Where a user has a right; an empty list if nowhere. */
export function getNamespaces({ roles }: Holder, right: Right): Namespaces {
  let byRight = parsed.get(roles);
  if (byRight === undefined) {
    byRight = parseGrants(roles);
    parsed.set(roles, byRight);
  }
  return byRight.get(right) ?? none;
}

/** Whether a user has a right without a limit to namespaces. */
export const hasRight = (user: Holder, right: Right): boolean => getNamespaces(user, right) === "all";

/** Events are other people's data: who may define topics need not see all of them. */
export const mayReadEvents = (user: Holder): boolean =>
  hasRight(user, "dead-letters.read-content") && hasRight(user, "admin");

/** Whether a user has a right, perhaps in some namespaces only. */
export const hasRightSomewhere = (user: Holder, right: Right): boolean =>
  getNamespaces(user, right).length > 0;

/** The rights that a user has, also where they are limited to namespaces. */
export const listRights = (user: Holder): Right[] => rights.filter((right) => hasRightSomewhere(user, right));

/** Whether a namespace is among others; undefined if it is unknown. */
export const includesNamespace = (namespaces: Namespaces, namespace: string | undefined): boolean =>
  namespaces === "all" ||
  (namespace !== undefined &&
    namespaces.some(
      ({ namespace: own, below }) => namespace === own || (below && namespace.startsWith(`${own}.`)),
    ));

/** The first role that has a right. */
export const findRoleWith = (right: Right): string =>
  Object.entries(rightsOfRole).find(([, granted]) => granted.includes(right))?.[0] ?? "";

/** The first of some rights and roles that exceeds what a user has; undefined if none does. */
export function findExcess(user: Holder, grants: readonly string[]): string | undefined {
  return grants.find((grant) =>
    [...parseGrants([grant])].some(([right, wanted]) => !includesAll(getNamespaces(user, right), wanted)),
  );
}

function includesAll(namespaces: Namespaces, wanted: Namespaces | undefined): boolean {
  if (namespaces === "all") return true;
  return (
    wanted !== "all" &&
    (wanted ?? none).every(({ namespace, below }) =>
      namespaces.some(
        (one) =>
          includesNamespace([one], namespace) && (one.below || (!below && one.namespace === namespace)),
      ),
    )
  );
}

/** Skips what is not a right or role: other programs may use the users as well. */
function parseGrants(grants: readonly string[]): Map<Right, Namespaces> {
  const byRight = new Map<Right, Namespaces>();
  for (const grant of grants.filter(isGrant)) {
    const at = grant.indexOf("@");
    if (at === -1) {
      const granted = isRole(grant) ? rightsOfRole[grant] : [grant as Right];
      for (const right of granted) byRight.set(right, "all");
      continue;
    }
    const right = grant.slice(0, at) as Right;
    const namespaces = byRight.get(right) ?? none;
    if (namespaces !== "all") byRight.set(right, [...namespaces, parseRange(grant.slice(at + 1))]);
  }
  return byRight;
}

const isRole = (grant: string): grant is keyof typeof rightsOfRole => Object.hasOwn(rightsOfRole, grant);

/** A namespace; with `.*` at its end also those below it. */
export const parseRange = (text: string): NamespaceRange =>
  text.endsWith(".*") ? { namespace: text.slice(0, -2), below: true } : { namespace: text, below: false };
