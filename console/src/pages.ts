import type { JSX } from "preact";

import { roles } from "../../schemas/roles.ts";
import { DeadLetters } from "./pages/dead-letters.tsx";
import { Applications } from "./pages/applications.tsx";
import { EventTypes } from "./pages/event-types.tsx";
import { Events } from "./pages/events.tsx";
import { Installations } from "./pages/installations.tsx";
import { Overview } from "./pages/overview.tsx";
import { Picker } from "./pages/picker.tsx";
import { Users } from "./pages/users.tsx";
import { Topics } from "./pages/topics.tsx";

interface ConsolePage {
  /** Includes every path below it. */
  readonly path: string;
  readonly name: string;
  /** The role that sees the page; every user if absent. */
  readonly role?: string;
  readonly component: () => JSX.Element;
}

/** The pages of the navigation; the console opens with the first. */
const pages: readonly ConsolePage[] = [
  { path: "/overview", name: "Overview", component: Overview },
  { path: "/events", name: "Events", component: Events },
  { path: "/dead-letters", name: "Dead letters", role: roles.eventManagement, component: DeadLetters },
  { path: "/topics", name: "Topics", role: roles.eventManagement, component: Topics },
  { path: "/event-types", name: "Event types", role: roles.eventManagement, component: EventTypes },
  { path: "/picker", name: "Picker", role: roles.eventManagement, component: Picker },
  { path: "/installations", name: "Installations", role: roles.pushAdmin, component: Installations },
  { path: "/applications", name: "Applications", role: roles.admin, component: Applications },
  { path: "/users", name: "Users", role: roles.admin, component: Users },
];

/** The page that the user's name leads to. */
export const accountPath = "/account";

/** The pages that a user with these roles sees. */
export const getPagesFor = (userRoles: readonly string[]): readonly ConsolePage[] =>
  pages.filter(({ role }) => role === undefined || userRoles.includes(role));
