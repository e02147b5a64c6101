/** What must hold for dead letters: one before each rejection is stored, and none that nothing calls for. */
import { getHeaderText, type OutgoingRecord } from "@topicsync/kafka";
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import { collections } from "../../src/storage/names.ts";
import type { Host, Read, StoredRecord } from "../simulated-servers/index.ts";
import { beginning, epochSize, format, isAt, toPosition, type Position } from "./sync-changes.ts";
import {
  explain,
  type Explanation,
  type FetchedRecords,
  type Range,
  type Version,
} from "./sync-explanation.ts";

interface LetterOracleOptions {
  readonly getVersions: () => readonly Version[];
  readonly getDelivered: (host: Host, partition: number) => readonly FetchedRecords[];
  readonly fail: (message: string) => never;
}

interface Letter {
  readonly partition: number;
  readonly offset: number;
  readonly epoch: number;
  readonly code: string;
}

export function createLetterOracle({ getVersions, getDelivered, fail }: LetterOracleOptions) {
  /** The codes of the dead letters of a record. */
  const stored = new Map<string, Set<string>>();
  /** Where each process found the position unmoved, by process and partition. */
  const checkedPositions = new Map<string, Position>();

  function isExplained(host: Host, { partition, offset, epoch, code }: Letter, checked: Position): boolean {
    const from = checked.epoch === epoch ? checked.offset : 0;
    const range: Range = { partition, from, to: offset + 1, epoch };
    return getVersions()
      .filter(({ positions }) => isAt(positions.get(partition), checked))
      .some((version) =>
        getDelivered(host, partition).some((found) =>
          explain(version, range, found).model.rejected.some(
            (one) => one.offset === (epoch - 1) * epochSize + offset && one.code === code,
          ),
        ),
      );
  }

  return {
    onRead({ client, collection, filter, found }: Read): void {
      if (collection !== collections.positions || !("next_offset" in filter)) return;
      const { partition } = filter["_id"] as { readonly partition: number };
      const key = `${client.name}/${partition}`;
      if (found.length === 0) checkedPositions.delete(key);
      else checkedPositions.set(key, toPosition(filter) ?? beginning);
    },

    /** A process moved the position. */
    onMoved(host: Host, partition: number): void {
      checkedPositions.delete(`${host.name}/${partition}`);
    },

    /** The position must have been found unmoved, and what was stored then must call for each letter. */
    onSending(host: Host, records: readonly OutgoingRecord[]): void {
      for (const letter of records.map(toLetter)) {
        const checked = checkedPositions.get(`${host.name}/${letter.partition}`);
        const sent = `${host.name} sent a dead letter for ${toKey(letter)} as ${letter.code}`;
        if (checked === undefined) return fail(`${sent} without a look at the position`);
        if (!isExplained(host, letter, checked))
          fail(`${sent}, which nothing stored at the position ${format(checked)} calls for`);
      }
    },

    /** A letter that Kafka stored: it must be the record, byte by byte, with the reason in headers. */
    onStored(host: Host, record: StoredRecord): void {
      const letter = toLetter(record);
      const isCopy = getDelivered(host, letter.partition).some(({ records }) =>
        records.some((one) => one.offset === letter.offset && hasSameBytes(record, one)),
      );
      if (!isCopy) fail(`the dead letter for ${toKey(letter)} of ${host.name} is not the record`);
      const key = toKey(letter);
      stored.set(key, (stored.get(key) ?? new Set()).add(letter.code));
    },

    /** A rejected record without a dead letter. */
    findMissing({ partition, epoch }: Range, { model }: Explanation): string | undefined {
      for (const { offset: position, code } of model.rejected) {
        const offset = position % epochSize;
        if (stored.get(toKey({ partition, epoch, offset }))?.has(code) !== true)
          return `the record at offset ${offset} was rejected as ${code} without a dead letter`;
      }
      return undefined;
    },
  };
}

const toLetter = ({ headers }: Pick<OutgoingRecord, "headers">): Letter => ({
  partition: Number(getHeaderText(headers, deadLetterHeader.partition)),
  offset: Number(getHeaderText(headers, deadLetterHeader.offset)),
  epoch: Number(getHeaderText(headers, deadLetterHeader.epoch)),
  code: String(getHeaderText(headers, deadLetterHeader.code)),
});

/**
 * The headers of the record come with those of the product. Where the topic takes no other, it has a key and
 * the time of sending.
 */
function hasSameBytes(letter: StoredRecord, { key, value, timestamp, headers }: StoredRecord): boolean {
  const find = (header: string): string | undefined =>
    letter.headers.find(([name]) => name === header)?.[1].toString();
  const isKeyless = key === null && letter.key !== null && find(deadLetterHeader.keyless) === "true";
  return (
    (isSame(letter.key, key) || isKeyless) &&
    isSame(letter.value, value) &&
    (letter.timestamp === timestamp || find(deadLetterHeader.time) === String(timestamp)) &&
    headers.every(([name, bytes]) =>
      letter.headers.some(([other, found]) => other === name && found.equals(bytes)),
    )
  );
}

const isSame = (a: Buffer | null, b: Buffer | null): boolean =>
  a === null || b === null ? a === b : a.equals(b);

const toKey = ({ partition, epoch, offset }: Omit<Letter, "code">): string =>
  `${partition}/${epoch}/${offset}`;
