import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import {
  advance,
  findStart,
  nothingFound,
  provesNewEpoch,
  suspectOffset,
} from "../../../consumers/start-position.ts";
import type { Position } from "../../../src/sync/positions.ts";
import type { LogRecord } from "../../../src/sync/records.ts";

const createRecord = (offset: number, timestamp: number | string): LogRecord => ({
  offset,
  key: null,
  value: null,
  headers: {},
  timestamp: String(timestamp),
});

const stored: Position = { offset: 10, epoch: 1, newest: 1_000 };
const log = { low: 0, high: 20, firstNewer: undefined };

describe("reading starts", () => {
  it("at the log's beginning without a stored position", () => {
    const start = findStart(undefined, { ...log, low: 4 }, nothingFound);
    assert.deepEqual(start, { position: { offset: 4, epoch: 1, newest: 0 }, fetchFrom: 4 });
  });

  it("at the stored position", () => {
    assert.deepEqual(findStart(stored, log, nothingFound), { position: stored, fetchFrom: 10 });
  });

  it("at the first offset of the log if earlier records were deleted", () => {
    const { position, fetchFrom } = findStart(stored, { ...log, low: 12 }, nothingFound);
    assert.deepEqual([position, fetchFrom], [{ ...stored, offset: 12 }, 12]);
  });

  it("before the position if the broker has later timestamps, to examine them", () => {
    const { position, fetchFrom } = findStart(stored, { ...log, firstNewer: 7 }, nothingFound);
    assert.deepEqual([position, fetchFrom], [stored, 7]);
    const again = findStart(
      stored,
      { ...log, firstNewer: 7 },
      { ...nothingFound, examinedTo: 9, newerFrom: 7 },
    );
    assert.equal(again.fetchFrom, 9);
  });

  it("before a position beyond the log's end, without a new epoch", () => {
    const { position, fetchFrom } = findStart(stored, { ...log, high: 5, firstNewer: 5 }, nothingFound);
    assert.deepEqual([position, fetchFrom], [stored, 0]);
  });

  it("in a new epoch if the position is beyond the log's end and no timestamp is known", () => {
    const { position } = findStart({ offset: 10, epoch: 3 }, { ...log, low: 1, high: 5 }, nothingFound);
    assert.deepEqual(position, { offset: 1, epoch: 4, newest: 0 });
  });

  it("in the next epoch once a record has proved that the last one ended", () => {
    const ended = { ...nothingFound, endedEpoch: 1 };
    assert.deepEqual(findStart(stored, log, ended).position, { offset: 0, epoch: 2, newest: 0 });
    const moved: Position = { offset: 3, epoch: 2, newest: 2_000 };
    assert.deepEqual(findStart(moved, log, ended).position, moved);
  });
});

describe("a record before the position", () => {
  it("proves a new epoch if it is newer than everything applied", () => {
    assert.equal(provesNewEpoch(createRecord(9, 1_001), stored), true);
    assert.equal(provesNewEpoch(createRecord(9, 1_000), stored), false);
    assert.equal(provesNewEpoch(createRecord(10, 1_001), stored), false);
  });

  it("proves nothing if its timestamp is missing or not in milliseconds", () => {
    for (const timestamp of [-1, Date.UTC(2100, 0) + 1, "1763000000000000", "1763000000000000000"])
      assert.equal(provesNewEpoch(createRecord(3, timestamp), stored), false);
    assert.equal(provesNewEpoch(createRecord(3, 5), { offset: 10, epoch: 1 }), false);
  });

  it("never proves one if it was applied, regardless of its timestamp", () => {
    const timestamp = fc.oneof(fc.integer({ min: -1, max: 5 }), fc.maxSafeInteger(), fc.constant(1.7e18));
    fc.assert(
      fc.property(fc.array(timestamp), fc.nat(), (timestamps, from) => {
        const records = timestamps.map((one, index) => createRecord(from + index, one));
        const position = advance({ offset: from, epoch: 1 }, records, from + records.length);
        assert.ok(!records.some((one) => provesNewEpoch(one, position)));
        assert.ok(position.newest === undefined || !Number.isNaN(new Date(position.newest).getTime()));
      }),
    );
  });

  it("is suspicious only if it was not examined yet", () => {
    const examined = (examinedTo: number, newerFrom = 4) => ({ ...nothingFound, examinedTo, newerFrom });
    assert.equal(suspectOffset(stored, 4, examined(6)), 6);
    assert.equal(suspectOffset(stored, 4, examined(10)), undefined);
    assert.equal(suspectOffset(stored, 10, nothingFound), undefined);
    assert.equal(suspectOffset(stored, undefined, nothingFound), undefined);
  });

  it("is suspicious again if newer records begin earlier than when it was examined", () => {
    const examined = { ...nothingFound, examinedTo: 10, newerFrom: 4 };
    assert.equal(suspectOffset(stored, 3, examined), 3);
  });
});
