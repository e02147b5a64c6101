import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { startOwnBroker } from "../../support/own-stack.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
import { sharedStack } from "../../support/stack.ts";

const broker = await startOwnBroker();
const { routerScene } = routerStage({ ...sharedStack(), kafka: broker.address });

describe("the router, when its broker is stopped and started again", () => {
  it("forwards each event once", async () => {
    const scene = routerScene();
    await scene.createTopics(2);
    const service = await scene.start();
    await scene.send(defineTopic("first", "eventType=E"), defineTopic("second", "eventType=E"));
    await scene.stored(2);
    const events = Array.from({ length: 8_000 }, (_, number) => ({
      partition: number % 2,
      key: String(number % 7),
      value: createEvent("E", { number, text: "x".repeat(300) }),
    }));
    for (let at = 0; at < events.length; at += 1_000) await scene.produce(...events.slice(at, at + 1_000));
    await until("some events are forwarded", async () => (await scene.countCopies()) > 0);
    await broker.stop();
    await broker.start();
    await scene.routed();
    await scene.assertForwarded(["first", "second"], [4_000, 4_000]);
    assert.equal(await service.stop(), 0);
  });
});
