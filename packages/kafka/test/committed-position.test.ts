import assert from "node:assert/strict";
import { it } from "node:test";

import { toPosition } from "../committed-position.ts";

const toMetadata = (metadata: unknown): string => JSON.stringify(metadata);

it("reads the position that the router has committed, and whose it is", () => {
  const metadata = toMetadata({ epoch: 2, topicId: "id", clusterId: "c", by: "me" });
  const position = { offset: 5, epoch: 2, topicId: "id", clusterId: "c" };
  assert.deepEqual(toPosition({ offset: 5, metadata }, "me"), { ...position, isOurs: true });
  assert.deepEqual(toPosition({ offset: 5, metadata }, "another"), { ...position, isOurs: false });
  assert.equal(toPosition({ offset: -1, metadata: "" }), undefined);
});

it("honours an offset that another program set, with any metadata", () => {
  for (const metadata of [
    "",
    "{",
    "null",
    "[]",
    toMetadata("text"),
    ...["2", null, 0, -1, 1.5, 2 ** 60, {}].map((epoch) => toMetadata({ epoch })),
    toMetadata({ topicId: 1, clusterId: 3, by: 2 }),
    toMetadata({ topicId: null, by: [] }),
  ])
    assert.deepEqual(
      toPosition({ offset: 5, metadata }),
      { offset: 5, epoch: 1, topicId: undefined, isOurs: false },
      metadata,
    );
});
