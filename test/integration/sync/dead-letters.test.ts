import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { NotLoadedError } from "@topicsync/lib/errors";
import { replacePlatform, type Platform } from "@topicsync/lib/platform";
import { connectDeadLetters, deadLetterMessage, prove } from "../../support/dead-letters.ts";
import { call } from "../../support/http.ts";
import { createKafkaTopics, deleteRecordsBefore } from "../../support/kafka-topics.ts";
import { stage } from "../../support/scene.ts";
import { runCli, type TestService } from "../../support/service.ts";
import { until } from "../../support/poll.ts";

const { kafka, admin, producer, scene } = stage();
const path = "/api/topicsync/v1/dead-letters";

const get = (service: TestService, rest = "") => call(`${service.url}${path}${rest}`, { method: "GET" });
const replay = (service: TestService, ids: readonly string[], more: object = {}) =>
  call(`${service.url}${path}/replays`, { body: { ids, ...more } });
const toIds = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);

/** The topics, and a function that writes dead letters with these offsets. */
async function createScene() {
  const own = scene();
  const { topic, deadLetterTopic } = own;
  await createKafkaTopics(admin, { topic, numPartitions: 1 }, { topic: deadLetterTopic, numPartitions: 2 });
  const send = async (offsets: readonly number[], partition = 0) => {
    const letters = offsets.map((offset) =>
      deadLetterMessage({ topic, partition: 0, offset }, { partition, code: "TOO_LARGE" }),
    );
    await producer.send({ topic: deadLetterTopic, messages: await prove(own.db, deadLetterTopic, letters) });
  };
  const toId = (offset: number) => `${topic}-0-${offset}`;
  return { ...own, send, toId };
}

describe("a dead letter that retention has deleted", () => {
  it("disappears from lists and counts, is not found, and is not replayed", async (t) => {
    const own = await createScene();
    const { deadLetterTopic, send, toId } = own;
    await send([1, 2, 3]);
    await send([4], 1);
    const service = await own.start();
    const { open, plan } = await connectDeadLetters(t, own);
    const planned = await plan();
    assert.deepEqual(toIds(planned.send), [1, 2, 3, 4].map(toId));
    await deleteRecordsBefore(admin, { topic: deadLetterTopic, partition: 0, offset: 2 });

    const { json } = await get(service);
    assert.deepEqual(toIds(json.deadLetters).toSorted(), [3, 4].map(toId));
    assert.deepEqual([json.total, json.counts], [2, { TOO_LARGE: 2 }]);
    const { status, json: answer } = await get(service, `/${toId(1)}`);
    assert.deepEqual([status, answer.error.detail], [404, "Its Kafka topic may have deleted it."]);
    const shown = await runCli(["dead-letters", "show", toId(1)], own.settings);
    assert.deepEqual([shown.code, shown.errors.includes(`There is no dead letter "${toId(1)}"`)], [1, true]);

    const { json: result } = await replay(service, [1, 3].map(toId), { dryRun: true });
    assert.deepEqual([result.sent, toIds(result.skipped)], [[toId(3)], [toId(1)]]);
    assert.equal(result.skipped[0].reason, "missing");
    // Planned before they were deleted.
    const { sent, skipped } = await open().send(planned);
    assert.deepEqual(sent, [3, 4].map(toId));
    assert.deepEqual(
      skipped.map(({ id, reason, message }) => [id, reason, message]),
      [1, 2].map((offset) => [toId(offset), "missing", "its Kafka topic has deleted it"]),
    );
    assert.equal(await service.stop(), 0);
  });
});

describe("what the dead-letter topic has before a request", () => {
  it("is in the answer of each instance, and of the command line", async (t) => {
    const own = await createScene();
    const { send, toId } = own;
    const services = [await own.start(), await own.start()];
    const { plan } = await connectDeadLetters(t, own);
    for (const round of [1, 2, 3]) {
      for (const [index, service] of services.entries()) {
        const offsets = Array.from({ length: 20 }, (_, i) => 100 * round + 20 * index + i);
        // In both partitions, which the instances share.
        await Promise.all([send(offsets.slice(0, 10)), send(offsets.slice(10), 1)]);
        const { json } = await replay(service, offsets.map(toId), { dryRun: true });
        assert.deepEqual([json.sent, json.skipped], [offsets.map(toId), []]);
        const { json: list } = await get(service, `/${toId(offsets[19] ?? 0)}`);
        assert.equal(list.id, toId(offsets[19] ?? 0));
      }
      await send([1_000 + round], round % 2);
      assert.ok(toIds((await plan()).send).includes(toId(1_000 + round)));
    }
    for (const service of services) assert.equal(await service.stop(), 0);
  });

  it("is read by a command, if no service runs, also after one was killed", async (t) => {
    const own = await createScene();
    const { send, toId } = own;
    const killed = await own.startProcess();
    await send([1]);
    assert.equal((await get(killed)).json.total, 1);
    await killed.stop("SIGKILL");
    await send([2]);
    const { plan } = await connectDeadLetters(t, own);
    assert.deepEqual(toIds((await plan()).send), [1, 2].map(toId));
  });
});

/** The clock runs this much faster; timers do not. */
const speed = 2_000;

/** Lets timeouts end soon. */
function hurry(t: TestContext): void {
  const former: Platform = replacePlatform({
    now: () => former.now(),
    elapsed: () => former.elapsed() * speed,
    schedule: (delayMs, action) => former.schedule(delayMs, action),
    scheduleSoon: (action) => former.scheduleSoon(action),
    random: () => former.random(),
    fillRandom: (bytes) => {
      former.fillRandom(bytes);
    },
  });
  t.after(() => void replacePlatform(former));
}

describe("dead letters that nobody stores", () => {
  it("are reported by lists, and end whatever needs all of them with an error", async (t) => {
    const own = await createScene();
    await own.send([1, 2]);
    const { create } = await connectDeadLetters(t, own);
    const { announcements } = create().services;
    hurry(t);
    const { deadLetters: listed, unlisted } = await announcements.list({
      filter: { namespaces: "all" },
      limit: 10,
    });
    assert.deepEqual([listed, unlisted], [[], 2]);
    const message = "the dead letters are still being read, 2 are left";
    const isNotLoaded = (error: unknown) => error instanceof NotLoadedError && error.message === message;
    await assert.rejects(announcements.plan({ ids: [own.toId(1)], namespaces: "all" }), isNotLoaded);
    await assert.rejects(announcements.get(own.toId(1), "all"), isNotLoaded);
  });

  it("end a command that waits for a member of the group that stores nothing", async (t) => {
    const own = await createScene();
    await own.send([1]);
    const groupId = `${own.key.group}.dead-letters.announcements`;
    const idle = kafka.consumer({ groupId });
    t.after(() => idle.disconnect());
    await idle.connect();
    await idle.subscribe({ topics: [own.deadLetterTopic] });
    await idle.run({ autoCommit: false, eachBatch: () => Promise.resolve() });
    await until("it owns the partitions", async () => {
      const { groups } = await admin.describeGroups([groupId]);
      return groups[0]?.state === "Stable";
    });
    const { plan } = await connectDeadLetters(t, own);
    hurry(t);
    await assert.rejects(plan(), {
      name: "UnavailableError",
      message:
        "the dead letters are still being read, 1 are left: none was stored for a minute, see the log of the service",
    });
  });
});
