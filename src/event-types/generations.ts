import { learningLimits, type EventType, type EventTypeSummary, type TypeStatistics } from "./event-type.ts";
import { EventStructure } from "./structure.ts";
import type { StoredEventType } from "./stores.ts";

type Counts = Omit<TypeStatistics, "paths">;

/** Adds what was seen to what is stored, within the limits. */
export function addToStored(
  { name, version, events, firstOn, generations }: StoredEventType,
  changes: TypeStatistics,
  { keepsValues }: { readonly keepsValues: boolean },
): StoredEventType {
  const [latest, ...former] = generations;
  const isFull = latest !== undefined && latest.sampled >= learningLimits.eventsPerGeneration;
  const current = latest === undefined || isFull ? [changes] : [latest, changes];
  const before = isFull ? [latest] : former;
  const kept = keepsValues ? before : before.map(dropValues);
  return {
    name,
    version,
    events: events + changes.events,
    firstOn: firstOn < changes.firstOn ? firstOn : changes.firstOn,
    generations: [joinStatistics(current, keepsValues), ...kept.slice(0, 1)],
  };
}

const dropValues = ({ paths, ...counts }: TypeStatistics): TypeStatistics => ({
  ...counts,
  paths: paths.map((path) => ({ ...path, values: undefined })),
});

/** Returns a stored type as one. */
export const toEventType = ({ generations, ...type }: StoredEventType): EventType => ({
  ...joinStatistics(generations, true),
  ...toTotals(type, generations),
});

export const toSummary = (
  type: Omit<StoredEventType, "generations">,
  generations: readonly (Counts & { readonly pathCount: number })[],
): EventTypeSummary => ({
  ...joinCounts(generations),
  ...toTotals(type, generations),
  pathCount: Math.max(...generations.map(({ pathCount }) => pathCount)),
});

const toTotals = (
  { name, events, firstOn }: Omit<StoredEventType, "generations">,
  generations: readonly Counts[],
) => ({ name, events, firstOn, sampledSince: joinCounts(generations).firstOn });

function joinStatistics(parts: readonly TypeStatistics[], keepsValues: boolean): TypeStatistics {
  const structure = new EventStructure({ keepsValues });
  for (const { paths } of parts) structure.add(paths);
  const counts = joinCounts(parts);
  return { ...counts, isComplete: counts.isComplete && structure.isComplete, paths: structure.list() };
}

const joinCounts = (parts: readonly Counts[]): Counts => ({
  events: parts.reduce((sum, { events }) => sum + events, 0),
  sampled: parts.reduce((sum, { sampled }) => sum + sampled, 0),
  firstOn: new Date(Math.min(...parts.map(({ firstOn }) => firstOn.getTime()))),
  lastOn: new Date(Math.max(...parts.map(({ lastOn }) => lastOn.getTime()))),
  isComplete: parts.every(({ isComplete }) => isComplete),
});
