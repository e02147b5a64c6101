import type { JSX } from "preact";

import { roles } from "../../schemas/roles.ts";
import { DeadLetters } from "./pages/dead-letters.tsx";
import { Applications } from "./pages/applications.tsx";
import { Installations } from "./pages/installations.tsx";
import { Overview } from "./pages/overview.tsx";
import { Picker } from "./pages/picker.tsx";
import { Users } from "./pages/users.tsx";
import { Topics } from "./pages/topics.tsx";

/** A part of the console. */
interface ConsolePage {
  /** Whatever lies beneath it is its own as well. */
  readonly path: string;
  /** As it stands in the navigation, and in the page's heading. */
  readonly name: string;
  /** Whoever has not got it does not see the page; everybody does where there is none. */
  readonly role?: string;
  readonly component: () => JSX.Element;
}

/** All parts, the first of which one comes to. */
export const pages: readonly ConsolePage[] = [
  { path: "/overview", name: "Overview", component: Overview },
  { path: "/dead-letters", name: "Dead letters", role: roles.eventManagement, component: DeadLetters },
  { path: "/topics", name: "Topics", role: roles.eventManagement, component: Topics },
  { path: "/picker", name: "Picker", role: roles.eventManagement, component: Picker },
  { path: "/installations", name: "Installations", role: roles.pushAdmin, component: Installations },
  { path: "/applications", name: "Applications", role: roles.admin, component: Applications },
  { path: "/users", name: "Users", role: roles.admin, component: Users },
];

/** The parts that somebody with these roles may see. */
export const pagesFor = (given: readonly string[]): readonly ConsolePage[] =>
  pages.filter(({ role }) => role === undefined || given.includes(role));
