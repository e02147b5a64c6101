import assert from "node:assert/strict";
import { test } from "node:test";

import { pino } from "pino";

import { replacePlatform, systemPlatform } from "@topicsync/lib/platform";
import { createBatchHandler } from "../../../consumers/batch-handler.ts";

const unused = () => Promise.reject(new Error("is not called"));

test("a batch has no more records than can be decoded soon, but at least 100", (t) => {
  let time = 0;
  t.after(() => void replacePlatform(systemPlatform));
  replacePlatform({ ...systemPlatform, elapsed: () => time });
  let msPerRecord = 0;
  const handler = createBatchHandler(
    { topic: "announcements", partition: 0 },
    {
      decode({ offset }) {
        time += msPerRecord;
        return offset;
      },
      decide: unused,
    },
    {
      groupId: "group",
      store: { claim: unused, findPosition: unused, begin: unused, getPrimary: () => undefined },
      deadLetters: { send: unused },
      applied: () => undefined,
      tracing: undefined,
      log: pino({ level: "silent" }),
    },
  );
  const delivered = Array.from({ length: 1_000 }, (_, offset) => {
    return { offset, timestamp: "0", key: null, value: null, headers: [] };
  });
  const prepare = (ms: number) => {
    msPerRecord = ms;
    const { records, decoded } = handler.prepare(delivered, 1);
    assert.deepEqual(
      records.map(({ offset }) => offset),
      decoded,
    );
    return records.length;
  };
  assert.deepEqual([prepare(0.01), prepare(0.2), prepare(60)], [1_000, 250, 100]);
});
