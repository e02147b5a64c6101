import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ClientSession } from "mongodb";

import type { Database } from "../../../src/storage/database/database.ts";
import { openPositions } from "../../support/positions.ts";

const key = { group: "group", topic: "announcements", partition: 0 };

/** A store that records in which session the position moves, and a session that can be ended. */
function createFakes() {
  const moves: unknown[] = [];
  let isInTransaction = false;
  const session = {
    id: { id: { toString: () => "session" } },
    inTransaction: () => isInTransaction,
    startTransaction: () => {
      isInTransaction = true;
    },
    commitTransaction: () =>
      isInTransaction ? Promise.resolve() : Promise.reject(new Error("no transaction started")),
    abortTransaction: () => Promise.resolve(),
  } as unknown as ClientSession;
  const collection = {
    findOne: () => Promise.resolve({ next_offset: 5 }),
    findOneAndUpdate: () => Promise.resolve({ next_offset: 5 }),
    updateOne: (_filter: unknown, _update: unknown, options: unknown) => {
      moves.push(options);
      return Promise.resolve({ matchedCount: 1 });
    },
  };
  const database = {
    run: (operation: () => Promise<unknown>) => operation(),
    collection: () => collection,
    startSession: () => session,
    isCurrent: () => true,
    killSessions: () => Promise.resolve(),
  } as unknown as Database;
  return {
    positions: openPositions(database),
    session,
    moves,
    end: () => (isInTransaction = false),
  };
}

describe("a transaction whose session ends before the commit", () => {
  it("fails, and moves the position in the session or not at all", async () => {
    const { positions, session, moves, end } = createFakes();
    await positions.claim(key);
    const batch = await positions.begin({ key, from: { offset: 5, epoch: 1 }, to: { offset: 6, epoch: 1 } });
    await batch.write(() => Promise.resolve());
    end();
    await assert.rejects(batch.commit(), { message: "no transaction started" });
    assert.deepEqual(moves, [{ session }]);
    await batch.end();
  });
});
