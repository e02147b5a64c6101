import { decodeForModel } from "../decoder.ts";
import { moveHeader } from "../generator.ts";
import type { LogEntry } from "../log.ts";
import type { History } from "./history.ts";
import { createEventTest, type EventTest, type FindValues } from "./matching.ts";
import { sentHeader } from "./topics.ts";

/** What the topics want of an event that was read at an unknown moment within a time. */
export interface Wanted {
  /** The topics that wanted it all the time. */
  readonly required: readonly string[];
  /** The topics that wanted it at some moment. */
  readonly possible: readonly string[];
}

/** A definition of a topic. Before the first one and after a tombstone it wants nothing. */
interface Version {
  readonly wants: EventTest | undefined;
  /** It was not in force before. */
  readonly from: number;
  /** It was not in force after. */
  to: number;
}

/** The definitions of the topics over time. */
export interface Versions {
  /** Takes the next announcement; those of a partition must come in offset order. */
  readonly take: (entry: LogEntry) => void;
  /** Evaluates every topic, one after another. Times are in milliseconds since 1970. */
  findWanted(find: FindValues, from: number, to: number): Wanted;
  readonly announcements: ReadonlyMap<string, number>;
}

export interface VersionOptions {
  /** Of the announcements. */
  readonly history: History;
  /** All that was applied by then was known to every instance. */
  readonly settledAt: number;
  /** How long after a later change was applied an instance may still match the version before it. */
  readonly propagationMs: number;
}

export function createVersions({ history, settledAt, propagationMs }: VersionOptions): Versions {
  const topics = new Map<string, Version[]>();
  const announcements = new Map<string, number>();

  return {
    announcements,
    take(entry) {
      const announced = decodeForModel(entry);
      const move = entry.headers[moveHeader] ?? "";
      announcements.set(move, (announcements.get(move) ?? 0) + 1);
      if (announced.kind === "unusable")
        throw new Error(`a topic's announcement is invalid: ${announced.rejection.code}`);
      const isDefinition = announced.kind === "define";
      const externalId = isDefinition ? announced.definition.externalId : announced.externalId;
      const known = topics.get(externalId) ?? [{ wants: undefined, from: -Infinity, to: Infinity }];
      topics.set(externalId, known);
      const last = known.at(-1);
      const appliedAt = history.findReadTime(entry.partition, entry.offset);
      if (last !== undefined) last.to = appliedAt <= settledAt ? appliedAt : appliedAt + propagationMs;
      known.push({
        wants: isDefinition ? createEventTest(announced.definition) : undefined,
        from: Number(entry.headers[sentHeader] ?? -Infinity),
        to: Infinity,
      });
    },
    findWanted(find, from, to) {
      const required: string[] = [];
      const possible: string[] = [];
      for (const [externalId, versions] of topics) {
        let [isWanted, isUnwanted] = [false, false];
        for (const version of versions) {
          if (version.to <= from || version.from > to) continue;
          if (version.wants?.(find) === true) isWanted = true;
          else isUnwanted = true;
        }
        if (!isWanted) continue;
        if (isUnwanted) possible.push(externalId);
        else required.push(externalId);
      }
      return { required, possible };
    },
  };
}
