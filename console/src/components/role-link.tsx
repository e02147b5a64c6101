import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";

import { useSession } from "../session.ts";

interface RoleLinkProps {
  /** The role that the page requires. */
  readonly role: string;
  readonly href: string;
  readonly children: ComponentChildren;
}

/** A link to a page, for users who can open it; its text for others. */
export function RoleLink({ role, href, children }: RoleLinkProps) {
  const canOpen = useSession().session.roles.includes(role);
  return canOpen ? <Link href={href}>{children}</Link> : <>{children}</>;
}
