import type { JSX } from "preact";

import type { Right } from "../../schemas/rights.ts";
import { DeadLetters } from "./pages/dead-letters.tsx";
import { Applications } from "./pages/applications.tsx";
import { EventTypes } from "./pages/event-types.tsx";
import { Events } from "./pages/events.tsx";
import { Installations } from "./pages/installations.tsx";
import { Keys } from "./pages/keys.tsx";
import { Overview } from "./pages/overview.tsx";
import { Picker } from "./pages/picker.tsx";
import { Users } from "./pages/users.tsx";
import { Sets } from "./pages/sets.tsx";
import { Topics } from "./pages/topics.tsx";

interface ConsolePage {
  /** Includes every path below it. */
  readonly path: string;
  readonly name: string;
  /** The right that the page requires; none if absent. */
  readonly right?: Right;
  readonly component: () => JSX.Element;
  /** Whether other pages lead to it, and not the navigation. */
  readonly isLinked?: true;
}

/** The pages, in the order of the navigation; the console opens with the first. */
const pages: readonly ConsolePage[] = [
  { path: "/overview", name: "Overview", component: Overview },
  { path: "/events", name: "Events", component: Events },
  { path: "/dead-letters", name: "Dead letters", right: "dead-letters.read", component: DeadLetters },
  { path: "/topics", name: "Topics", right: "topics.read", component: Topics },
  { path: "/sets", name: "Sets", right: "topics.read", component: Sets, isLinked: true },
  { path: "/event-types", name: "Event types", right: "topics.read", component: EventTypes },
  { path: "/picker", name: "Picker", right: "topics.read", component: Picker },
  {
    path: "/installations",
    name: "Installations",
    right: "installations.read-tokens",
    component: Installations,
  },
  { path: "/applications", name: "Applications", right: "admin", component: Applications },
  { path: "/users", name: "Users", right: "admin", component: Users },
  { path: "/keys", name: "Keys", right: "admin", component: Keys },
];

/** The page that the user's name leads to. */
export const accountPath = "/account";

/** The pages that a user with these rights sees. */
export const getPagesFor = (rights: readonly Right[]): readonly ConsolePage[] =>
  pages.filter(({ right }) => right === undefined || rights.includes(right));
