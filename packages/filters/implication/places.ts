import type { Condition } from "../filter/filter.ts";
import type { Place } from "../filter/path-tree.ts";

/**
 * What is known of the values at a place: at most one text, any number of texts, at most one object, nothing
 * at all, or nothing is known.
 */
export type Content = "text" | "texts" | "object" | "nothing" | "any";

/** `schemas/pick.ts`: the router and HTTP reject every other event. */
const texts: ReadonlySet<string> = new Set(["eventId", "@type", "eventType"]);
/** `schemas/cloud-event.ts`. Extension attributes can be anything. */
const attributes: ReadonlySet<string> = new Set([
  "id",
  "source",
  "specversion",
  "type",
  "datacontenttype",
  "dataschema",
  "subject",
  "time",
]);

export function getContent({ path, ofRecord }: Place): Content {
  const [root = "", name = ""] = path;
  if (ofRecord) {
    if (root === "$header") return "texts";
    return root === "$key" || attributes.has(name) ? "text" : "any";
  }
  if (texts.has(root)) return path.length === 1 ? "text" : "nothing";
  return root === "event" && path.length === 1 ? "object" : "any";
}

/** Whether one place is the other one, or an object that the other one is in. */
export const isAtOrAbove = (upper: Condition, lower: Condition): boolean =>
  upper.ofRecord === lower.ofRecord &&
  upper.path.length <= lower.path.length &&
  upper.path.every((name, at) => name === lower.path[at]);
