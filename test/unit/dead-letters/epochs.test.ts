import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connectDeadLetters } from "../../support/dead-letters.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";

const { scene, producer } = stage();

describe("dead letters of a Kafka topic that was deleted and created again", () => {
  it("are distinguished by the epoch and replayed separately", async (t) => {
    const { settings, topic, deadLetters, positions, ...own } = scene();
    const announceInvalid = (id: string) =>
      producer.send({ topic, messages: [{ key: id, value: JSON.stringify({ externalId: id }) }] });

    await own.createTopic();
    await announceInvalid("first");
    await own.announce(0, 2);
    const first = await own.start();
    await own.reached(3);
    assert.equal(await deadLetters(), 1);

    // The dead letter of the first epoch is replayed, and rejected again at offset 3.
    const { open, plan } = await connectDeadLetters(t, { settings, uri: own.uri });
    const planned = await plan();
    assert.deepEqual(
      planned.send.map(({ id }) => id),
      [`${topic}-0-0`],
    );
    const { sent } = await open().send(planned);
    assert.equal(sent.length, 1);
    await own.reached(4);
    await first.stop();

    await own.recreateTopic();
    await announceInvalid("second");
    const second = await own.start();
    await until(
      "the second epoch is applied",
      async () => (await positions.findOne({ _id: own.key }))?.epoch === 2,
    );
    await own.reached(1);

    const listed: unknown[] = [];
    for (const wanted of [`${topic}-0-0`, `${topic}-0-3`, `${topic}-0-0-2`]) {
      const found = await open().get(wanted, "all");
      const { id, copies, key = null, replays = [] } = found?.view ?? {};
      const text = Buffer.from(key ?? "", "base64").toString();
      listed.push([id, copies, text, replays.map(({ outcome }) => outcome.status)]);
    }
    assert.deepEqual(listed, [
      [`${topic}-0-0`, 1, "first", ["rejected"]],
      [`${topic}-0-3`, 1, "first", []],
      [`${topic}-0-0-2`, 1, "second", []],
    ]);
    assert.deepEqual(
      (await plan()).send.map(({ id }) => id),
      [`${topic}-0-3`, `${topic}-0-0-2`],
    );

    // `announce --wait` finds its dead letters of this epoch.
    const holder = { externalId: "holder", name: "One name" };
    const definitions = [holder, { ...holder, externalId: "other" }].map((one) => JSON.stringify(one));
    const { code, output, errors } = await runCli(
      ["announce", "--wait", "--json", "-"],
      settings,
      definitions.join("\n"),
    );
    assert.equal(code, 3, errors);
    const { rejected } = JSON.parse(output) as { rejected: { id: string; code: string }[] };
    assert.deepEqual(
      rejected.map((one) => [one.id, one.code]),
      [[`${topic}-0-2-2`, "DUPLICATE_COMBINATION"]],
    );
    assert.equal(await second.stop(), 0);
  });
});
