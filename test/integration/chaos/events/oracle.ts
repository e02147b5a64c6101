import { choosePartition } from "../../../simulation/router-copies.ts";
import { findLetterFaults } from "../compare.ts";
import { decodeEventForModel } from "../decoder.ts";
import { moveHeader } from "../generator.ts";
import type { LogEntry } from "../log.ts";
import { digestRecord, type ExpectedLetter } from "../oracle.ts";
import type { History } from "./history.ts";
import type { Growth } from "./growth.ts";
import { createValueFinder } from "./matching.ts";
import { sentHeader } from "./topics.ts";
import type { Versions } from "./versions.ts";

/** When an event was forwarded, at the earliest and at the latest, in milliseconds since 1970. */
interface Moment {
  readonly sentAt: number;
  readonly readAt: number;
}

/** An event, and what is still to be found of it. */
interface ExpectedEvent extends Moment {
  readonly digest: string;
  readonly timestamp: number;
  readonly move: string;
  /** Topics that must have a copy. */
  readonly missing: Set<string>;
  /** Topics that may have a copy. */
  readonly possible: Set<string>;
  readonly found: Set<string>;
}

export interface EventOracleOptions {
  /** The events topic. */
  readonly topic: string;
  readonly egress: string;
  readonly deadLetterTopic: string;
  readonly history: History;
  readonly versions: Pick<Versions, "findWanted">;
  readonly growth: Pick<Growth, "findCounts">;
}

export interface EventCounts {
  /** Committed events by their kind. */
  readonly events: Map<string, number>;
  unmatched: number;
  copies: number;
  /** Copies that depend on when the event was matched. */
  undecided: number;
  letters: number;
  maxCopies: number;
}

/** Compares what was forwarded with the log of events. */
export interface EventOracle {
  /** Takes the next committed record of the events topic; all of them come before the copies. */
  readonly takeEvent: (entry: LogEntry) => void;
  readonly takeCopy: (entry: LogEntry) => void;
  readonly takeLetter: (entry: LogEntry) => void;
  /** Describes every difference, once everything is taken. */
  findDifferences(): string[];
  readonly counts: EventCounts;
}

export function createEventOracle(options: EventOracleOptions): EventOracle {
  const { topic, egress, deadLetterTopic, history, versions, growth } = options;
  /** By `partition-offset`. */
  const events = new Map<string, ExpectedEvent>();
  const letters = new Map<string, ExpectedLetter & Moment & { readonly timestamp: number }>();
  const differences: string[] = [];
  /** The offset of the last copy, by the partitions of event and copy. */
  const lastOffsets = new Map<string, number>();
  const counts: EventCounts = {
    events: new Map(),
    unmatched: 0,
    copies: 0,
    undecided: 0,
    letters: 0,
    maxCopies: 0,
  };

  function takeEvent(entry: LogEntry): void {
    const { partition, offset, timestamp, headers } = entry;
    const id = `${partition}-${offset}`;
    const move = headers[moveHeader] ?? "";
    const digest = digestRecord(entry);
    const sentAt = Number(headers[sentHeader] ?? -Infinity);
    const readAt = history.findReadTime(partition, offset);
    counts.events.set(move, (counts.events.get(move) ?? 0) + 1);
    const decoded = decodeEventForModel(entry);
    if ("code" in decoded) {
      letters.set(id, { code: decoded.code, digest, move, timestamp, sentAt, readAt });
      return;
    }
    const find = createValueFinder(decoded.event);
    const { required, possible } = versions.findWanted(find, sentAt, readAt);
    if (required.length + possible.length === 0) counts.unmatched += 1;
    counts.maxCopies = Math.max(counts.maxCopies, required.length);
    counts.undecided += possible.length;
    const missing = new Set(required);
    const found = new Set<string>();
    events.set(id, { digest, timestamp, move, missing, possible: new Set(possible), found, sentAt, readAt });
  }

  function findCopyFaults(copy: LogEntry, id: string): string[] {
    const expected = events.get(id);
    if (expected === undefined) return ["is of no committed event"];
    const { headers, timestamp } = copy;
    const name = headers["topicsync.topic"];
    const faults: string[] = [];
    if (name === undefined) faults.push("names no topic");
    else if (expected.found.has(name)) faults.push(`is the second for "${name}"`);
    else if (!expected.missing.delete(name) && !expected.possible.delete(name))
      faults.push(`is for "${name}", which does not want it`);
    if (name !== undefined) expected.found.add(name);
    if (digestRecord(copy) !== expected.digest)
      faults.push("differs from the event in key, value or headers");
    if (timestamp !== expected.timestamp)
      faults.push(`has the timestamp ${timestamp}, not ${expected.timestamp}`);
    const more = Object.keys(headers).filter((header) => header.startsWith("topicsync."));
    if (more.length !== 2) faults.push(`has the headers ${more.join(", ")}`);
    return [...faults, ...findOrderFaults(copy, id), ...findPartitionFaults(copy, id, egress, expected)];
  }

  /** Accepts the partition for each number of partitions that the router may have known. */
  function findPartitionFaults(
    { key, partition }: LogEntry,
    id: string,
    of: string,
    { sentAt, readAt }: Moment,
  ): string[] {
    const [ofEvent] = id.split("-");
    const sizes = growth.findCounts(of, sentAt, readAt);
    const expected = sizes.map((count) => choosePartition(key, Number(ofEvent), count));
    return expected.includes(partition) ? [] : [`is not in partition ${[...new Set(expected)].join(" or ")}`];
  }

  function findOrderFaults({ partition }: LogEntry, id: string): string[] {
    const faults: string[] = [];
    const [from = "", offset = ""] = id.split("-");
    const stream = `${from} to ${partition}`;
    const last = lastOffsets.get(stream) ?? -1;
    if (Number(offset) < last) faults.push(`comes after a copy of the event at offset ${last}`);
    lastOffsets.set(stream, Math.max(last, Number(offset)));
    return faults;
  }

  return {
    counts,
    takeEvent,
    takeCopy(copy) {
      counts.copies += 1;
      const id = toId(copy.headers["topicsync.event"]);
      differences.push(
        ...findCopyFaults(copy, id).map(
          (fault) => `copy ${copy.partition}-${copy.offset} of the event ${id} ${fault}`,
        ),
      );
    },
    takeLetter(letter) {
      counts.letters += 1;
      const { headers, timestamp } = letter;
      const id = toId(headers["topicsync.id"]);
      const name = `dead letter ${letter.partition}-${letter.offset} of the event ${id}`;
      const expected = letters.get(id);
      if (expected === undefined) {
        const was = events.has(id)
          ? "should not have been rejected"
          : "is of no committed event, or the second";
        differences.push(`${name} ${was} (${headers["topicsync.code"] ?? "no code"})`);
        return;
      }
      letters.delete(id);
      const faults = [
        ...findLetterFaults(letter, expected, id),
        ...findPartitionFaults(letter, id, deadLetterTopic, expected),
      ];
      differences.push(...faults.map((fault) => `${name}: ${fault}`));
      const time = Number(headers["topicsync.time"] ?? timestamp);
      if (time !== expected.timestamp)
        differences.push(`${name} has the timestamp ${time}, not ${expected.timestamp}`);
    },
    findDifferences: () => [
      ...differences,
      ...[...events].flatMap(([id, { missing, move }]) =>
        [...missing].map((name) => `the event ${id} (${move}) has no copy for "${name}"`),
      ),
      ...[...letters].map(([id, { code }]) => `the event ${id} has no dead letter with the code ${code}`),
    ],
  };

  function toId(header = "no id"): string {
    return header.startsWith(`${topic}-`) ? header.slice(topic.length + 1) : header;
  }
}
