import assert from "node:assert/strict";
import { it } from "node:test";

import { produceBatches } from "../../support/raw-produce.ts";
import { createRecordBatch } from "../../support/record-batch.ts";
import { createEvent, defineTopic, getText, routerStage } from "../../support/router-scene.ts";

const { kafka, routerScene } = routerStage();
const mib = 1024 * 1024;

it("the router rejects an event of more than KAFKA_MAX_EVENT_BYTES without parsing it, and forwards what follows", async (t) => {
  const scene = routerScene();
  await scene.createTopics();
  await scene.start();
  await scene.send(defineTopic("all", ""));
  await scene.stored(1);
  /** The longest text that is parsed, since parsing it takes twenty times as much memory. */
  let longest = 0;
  const { parse } = JSON;
  t.mock.method(JSON, "parse", (text: string) => {
    longest = Math.max(longest, text.length);
    return parse(text) as unknown;
  });
  const lists = `{"eventType":"x","event":{"a":[${"[],".repeat(13 * mib)}[]]}}`;
  const small = { value: Buffer.from(JSON.stringify(createEvent("x"))) };
  const timestamp = Date.now();
  const batch = createRecordBatch(0, [small, { value: Buffer.from(lists) }, small], { timestamp });
  assert.ok(batch.length < 100_000);
  await produceBatches(kafka, scene.events, [batch, createRecordBatch(0, [small], { timestamp })]);
  await scene.routed();

  const copies = await scene.readAll(scene.egress);
  assert.deepEqual(
    copies.map((copy) => getText(copy, "topicsync.event")),
    [0, 2, 3].map((offset) => `${scene.events}-0-${offset}`),
  );
  const [letter, ...others] = await scene.readAll(scene.deadLetterTopic);
  assert.ok(letter !== undefined);
  assert.equal(getText(letter, "topicsync.id"), `${scene.events}-0-1`);
  assert.equal(getText(letter, "topicsync.code"), "TOO_LARGE");
  assert.match(getText(letter, "topicsync.omitted") ?? "", /at offset 1 of /);
  assert.deepEqual(others, []);
  assert.ok(longest < mib, `${longest} characters were parsed`);
});
