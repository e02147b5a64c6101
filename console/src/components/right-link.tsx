import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";

import type { Right } from "../../../schemas/rights.ts";
import { useRight } from "../session.ts";

interface RightLinkProps {
  /** The right that the page requires. */
  readonly right: Right;
  readonly href: string;
  readonly children: ComponentChildren;
}

/** A link to a page, for users who can open it; its text for others. */
export function RightLink({ right, href, children }: RightLinkProps) {
  return useRight(right) ? <Link href={href}>{children}</Link> : <>{children}</>;
}
