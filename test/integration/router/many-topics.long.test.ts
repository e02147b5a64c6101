import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { createEvent, defineTopic, getText, routerStage } from "../../support/router-scene.ts";

const { admin, routerScene } = routerStage();

describe("events of many topics", () => {
  it("are forwarded in a small process although 4,000 of them, each of 1,000 topics, wait when it starts", async () => {
    const prefix = unique("egress");
    const scene = routerScene({ KAFKA_EGRESS_TOPIC: `${prefix}.{namespace}` });
    await scene.createTopics();
    await createKafkaTopics(admin, { topic: `${prefix}.here`, numPartitions: 1 });
    const first = await scene.start();
    const topics = Array.from({ length: 1_000 }, (_, number) => ({
      ...defineTopic(`t${number}`, "eventType=E"),
      namespace: number < 25 ? "here" : "gone",
    }));
    await scene.send(...topics);
    await scene.stored(topics.length);
    await first.stop();
    for (let sent = 0; sent < 4_000; sent += 1_000)
      await scene.produce(
        ...Array.from({ length: 1_000 }, (_, number) => ({
          value: createEvent("E", { number: sent + number }),
        })),
      );
    await scene.startProcess({ NODE_OPTIONS: "--max-old-space-size=400" });
    await scene.routed();
    const copies = await scene.readAll(`${prefix}.here`);
    assert.equal(copies.length, 4_000 * 25);
    const pairs = copies.map(
      (copy) => `${getText(copy, "topicsync.event")} ${getText(copy, "topicsync.topic")}`,
    );
    assert.equal(new Set(pairs).size, copies.length);
    const letters = await scene.readAll(scene.deadLetterTopic);
    assert.equal(letters.length, 4_000);
    for (const letter of letters) {
      const undelivered: unknown = JSON.parse(getText(letter, "topicsync.undelivered") ?? "");
      assert.equal(Array.isArray(undelivered) && undelivered.length, 975);
    }
  });

  it("are dead letters beyond KAFKA_MAX_COPIES, and hold up no others", async () => {
    const scene = routerScene({ KAFKA_MAX_COPIES: "2" });
    await scene.createTopics();
    await scene.start();
    await scene.send(
      defineTopic("a", "eventType=Many,Few"),
      defineTopic("b", "eventType=Many,Few"),
      defineTopic("c", "eventType=Many"),
    );
    await scene.stored(3);
    await scene.produce({ value: createEvent("Many") }, { value: createEvent("Few") });
    await scene.routed();
    const copies = await scene.readAll(scene.egress);
    assert.deepEqual(
      copies.map((copy) => getText(copy, "topicsync.event")),
      [`${scene.events}-0-1`, `${scene.events}-0-1`],
    );
    const letters = await scene.readAll(scene.deadLetterTopic);
    assert.deepEqual(
      letters.map((letter) => [getText(letter, "topicsync.id"), getText(letter, "topicsync.code")]),
      [[`${scene.events}-0-0`, "TOO_MANY_TOPICS"]],
    );
  });
});
