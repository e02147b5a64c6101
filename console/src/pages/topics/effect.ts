import {
  classifyChange,
  type FilterChange,
  printCondition,
  tryReadConditions,
  type FilterTexts,
} from "@topicsync/filters";

/** What a change of filters does to the events of a topic, in words. */
interface Effect {
  readonly title: string;
  readonly text: string;
}

const effects: Readonly<Record<FilterChange, Effect>> = {
  same: { title: "Same events", text: "The filters are written differently, and mean the same." },
  widened: { title: "Widened", text: "Every event that matched still matches, and others do, too." },
  narrowed: { title: "Narrowed", text: "Some events that matched no longer do; no others do." },
  disjoint: { title: "Different events", text: "No event that matched still does." },
  changed: { title: "Changed", text: "Some events that matched no longer do, and others do." },
  undecided: {
    title: "Undecided",
    text: "It does not follow from the filters which events change. Test them with events.",
  },
};

/** Describes a change of filters, as far as it follows from them. Undefined if one of them is invalid. */
export function describeEffect(before: FilterTexts, after: FilterTexts): Effect | undefined {
  if (before.headerQuery === after.headerQuery && before.contentQuery === after.contentQuery)
    return { title: "Same events", text: "The filters do not change." };
  const [old, next] = [tryReadConditions(before), tryReadConditions(after)];
  if (old === undefined || next === undefined) return undefined;
  const impossible = next.findContradiction();
  if (impossible !== undefined) {
    const conditions = impossible.map(printCondition).join(" and ");
    return { title: "No events", text: `No event can meet ${conditions}.` };
  }
  return effects[classifyChange(old, next)];
}
