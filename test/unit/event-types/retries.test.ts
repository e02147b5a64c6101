import assert from "node:assert/strict";
import { it } from "node:test";

import { EventLearner } from "../../../src/event-types/learner.ts";
import { createEventTypeService } from "../../../src/event-types/service.ts";
import type { EventTypeStore, StoredEventType } from "../../../src/event-types/stores.ts";

it("what was learned is added once to what other instances have stored in between", async () => {
  let stored: StoredEventType | undefined;
  let conflicts = 2;
  const store: Partial<EventTypeStore> = {
    find: () => Promise.resolve(stored === undefined ? [] : [stored]),
    countUpTo: () => Promise.resolve(0),
    replace(type) {
      if (conflicts > 0) {
        conflicts -= 1;
        const [version, events] = [(stored?.version ?? 0) + 1, (stored?.events ?? 0) + 10];
        stored = { name: "A", firstOn: new Date(0), generations: [], ...stored, version, events };
        return Promise.resolve(false);
      }
      assert.equal(type.version, stored?.version, "the version that was read");
      stored = type;
      return Promise.resolve(true);
    },
  };
  const learner = new EventLearner({ keepsValues: false });
  for (let count = 0; count < 3; count += 1) learner.learn({ eventType: "A" });
  const [changes] = learner.take();
  assert.ok(changes !== undefined);
  await createEventTypeService(store as EventTypeStore, { keepsValues: false }).record(changes);
  assert.equal(stored?.events, 23);
});
