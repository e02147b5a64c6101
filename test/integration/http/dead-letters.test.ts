import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { roles } from "../../../src/users/user.ts";
import { deadLetterMessage, prove } from "../../support/dead-letters.ts";
import { call, type HttpResponse } from "../../support/http.ts";
import { startKafkaProxy } from "../../support/kafka-proxy.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, stage } from "../../support/scene.ts";
import { addUser, bootstrap, type TestService } from "../../support/service.ts";

const { admin, producer, scene } = stage();
const own = scene();
const { topic, deadLetterTopic } = own;
const feedbackTopic = unique("feedback");
const path = "/api/topicsync/v1/dead-letters";
const reader = { user: unique("reader"), password: "a reader's password" };
const manager = { user: unique("manager"), password: "a manager's password" };
let service: TestService;

before(async () => {
  await own.createTopic(1, { "message.timestamp.after.max.ms": "9223372036854775807" });
  service = await own.start({ KAFKA_PUSH_FEEDBACK_TOPIC: feedbackTopic });
  await addUser(own.settings, manager.user, manager.password, "--role", roles.eventManagement);
  await addUser(own.settings, reader.user, reader.password);
});

type As = { readonly user: string; readonly password: string } | "nobody";
const toCredentials = (as: As) => (as === "nobody" ? undefined : as);
const get = (rest = "", as: As = bootstrap): Promise<HttpResponse> =>
  call(`${service.url}${path}${rest}`, { method: "GET", as: toCredentials(as) });
const post = (
  what: "replays" | "replay-outcomes",
  body: object,
  as: As = bootstrap,
  url = service.url,
): Promise<HttpResponse> => call(`${url}${path}/${what}`, { body, as: toCredentials(as) });

/** Waits until the service has applied all announcements; returns the end of the log. */
async function waitUntilApplied(): Promise<number> {
  const [offsets] = await admin.fetchTopicOffsets(topic);
  const end = Number(offsets?.high);
  await until(
    `the position is ${end}`,
    async () => (await own.positions.findOne({ _id: own.key }))?.next_offset === end,
  );
  return end;
}

/** Announces these, waits, and returns the id of the dead letter of the last one. */
async function announceRejected(...sent: Parameters<typeof own.send>): Promise<string> {
  await own.send(...sent);
  return `${topic}-0-${(await waitUntilApplied()) - 1}`;
}

const getOutcome = async (id: string): Promise<unknown> =>
  (await post("replay-outcomes", { ids: [id] })).json.deadLetters[0].replay?.outcome;

/** A dead letter of another partition. */
const deadLetter = (offset: number, headers: Record<string, string | Buffer> = {}) =>
  deadLetterMessage({ topic, partition: 7, offset }, { headers });

describe("dead letters over HTTP", () => {
  it("require the role for topics, and for push feedback also the role for push tokens", async () => {
    assert.equal((await get("", "nobody")).status, 401);
    assert.equal((await get("", reader)).status, 403);
    assert.equal((await post("replays", { ids: ["x"] }, reader)).status, 403);
    assert.equal((await get("", manager)).status, 200);
    assert.equal((await get("?channel=push-feedback", manager)).status, 403);
    for (const [query, at] of [
      ["?limit=1001", "/limit"],
      ["?after=x", "/after"],
      ["?replayed=perhaps", "/replayed"],
      ["?from=yesterday", "/from"],
      ["?code=X,", "/code/1"],
      ["?cod=X", "/cod"],
    ] as const) {
      const { status, json } = await get(query);
      assert.deepEqual([status, json.error.details[0].path], [400, at]);
    }
  });

  it("are listed newest first", async () => {
    const none = await get();
    assert.deepEqual(none.json, {
      channels: ["announcements", "push-feedback"],
      counts: {},
      total: 0,
      unlisted: 0,
      deadLetters: [],
      next: null,
    });
    const holder = definition(unique("holder"));
    const first = await announceRejected(holder, { ...holder, externalId: unique("heir") });
    const second = await announceRejected({ externalId: "nameless", name: "" });
    const third = await announceRejected({ externalId: "another", name: "" });

    const { json } = await get("?limit=2");
    assert.deepEqual(json.counts, { DUPLICATE_COMBINATION: 1, SCHEMA_VIOLATION: 2 });
    assert.deepEqual(
      json.deadLetters.map(({ id }: { id: string }) => id),
      [third, second],
    );
    const [{ time, ...newest }] = json.deadLetters;
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < 600_000);
    assert.deepEqual(newest, {
      id: third,
      code: "SCHEMA_VIOLATION",
      message: newest.message,
      externalId: "another",
      source: { topic, partition: 0, offset: Number(third.split("-").at(-1)) },
      replay: null,
    });
    const rest = (await get(`?limit=2&after=${json.next}`)).json;
    assert.deepEqual([rest.deadLetters.length, rest.deadLetters[0].id, rest.next], [1, first, null]);
    const ofCode = (await get("?code=DUPLICATE_COMBINATION")).json;
    assert.deepEqual([ofCode.deadLetters.length, ofCode.total], [1, 3]);
    assert.deepEqual((await get("?code=NONSENSE")).json.deadLetters, []);
    for (const codes of [
      "code=DUPLICATE_COMBINATION,SCHEMA_VIOLATION",
      "code=NONSENSE&code=SCHEMA_VIOLATION",
    ])
      assert.equal((await get(`?${codes}`)).json.deadLetters[0].id, third, codes);
    const count = async (query: string) => (await get(query)).json.deadLetters.length as number;
    const later = new Date(Date.parse(time) + 1).toISOString();
    assert.deepEqual([await count(`?from=${time}&to=${time}`), await count(`?from=${later}`)], [1, 0]);
  });

  it("are returned whole, with any content", async () => {
    const value = Buffer.from([0, 255, 1, 254]);
    await producer.send({
      topic: deadLetterTopic,
      messages: await prove(own.db, deadLetterTopic, [
        {
          ...deadLetter(1, { own: Buffer.from([0xff, 0xfe]), "<b>": "<script>" }),
          value,
          key: Buffer.from([0x80]),
        },
        { ...deadLetter(2, { "topicsync.omitted": "too large: its bytes are elsewhere" }), value: null },
        { ...deadLetter(3), value: "x".repeat(900_000) },
        deadLetter(4, { "topicsync.details": '[{"path":"/name","message":"<img src=x>"}]' }),
        {
          value: "of somebody else",
          headers: { "__connect.errors.topic": "../../x", "topicsync.id": "../../x-0-0" },
        },
      ]),
    });
    const { json } = await get(`/${topic}-7-1`);
    assert.deepEqual(
      [json.value, json.key, json.position.topic, json.source],
      [value.toString("base64"), "gA==", deadLetterTopic, { topic, partition: 7, offset: 1 }],
    );
    assert.deepEqual(json.headers, [
      { name: "own", value: "//4=" },
      { name: "<b>", value: Buffer.from("<script>").toString("base64") },
    ]);
    const omitted = (await get(`/${topic}-7-2`)).json;
    assert.deepEqual([omitted.value, omitted.omitted], [null, "too large: its bytes are elsewhere"]);
    assert.equal(Buffer.from((await get(`/${topic}-7-3`)).json.value, "base64").length, 900_000);
    assert.deepEqual((await get(`/${topic}-7-4`)).json.details, [{ path: "/name", message: "<img src=x>" }]);
    const [strange] = (await get("?code=OTHER")).json.deadLetters;
    assert.deepEqual([strange.source, strange.id.startsWith(`${deadLetterTopic}-0-`)], [null, true]);
    assert.equal(
      (await get(`/${strange.id}`)).json.value,
      Buffer.from("of somebody else").toString("base64"),
    );
    assert.equal((await get("/nothing-0-1")).status, 404);
  });

  it("are replayed, with outcomes", async () => {
    const holder = definition(unique("holder"));
    const heir = { ...holder, externalId: unique("heir") };
    const mended = await announceRejected(holder, heir);
    const bad = await announceRejected({ externalId: unique("bad"), name: "" });
    await own.send(holder.externalId);
    await waitUntilApplied();

    const ids = [mended, bad, "nothing-0-1", `${topic}-7-2`];
    const looked = await post("replays", { ids, dryRun: true });
    assert.equal(looked.status, 200);
    assert.deepEqual(looked.json.sent.toSorted(), [mended, bad].toSorted());
    assert.deepEqual(
      looked.json.skipped.map(({ id, reason }: { id: string; reason: string }) => [id, reason]),
      [
        [`${topic}-7-2`, "omitted"],
        ["nothing-0-1", "missing"],
      ],
    );
    assert.equal(await getOutcome(mended), undefined);

    const sent = await post("replays", { ids });
    assert.deepEqual(sent.json, looked.json);
    await until(
      "the sync has reached both",
      async () => (await getOutcome(bad)) !== undefined && (await waitUntilApplied()),
    );
    assert.deepEqual(await getOutcome(mended), { status: "applied" });
    const again = (await getOutcome(bad)) as { status: string; code: string; deadLetterId: string };
    assert.deepEqual([again.status, again.code], ["rejected", "SCHEMA_VIOLATION"]);
    assert.equal((await get(`/${again.deadLetterId}`)).json.replayOf, bad);
    assert.equal((await get(`/${mended}`)).json.replays[0].outcome.status, "applied");
    assert.ok((await own.topics.findOne({ topic_id: heir.externalId })) !== null);

    const replayed = (await get("?replayed=true")).json.deadLetters as {
      id: string;
      replay: object | null;
    }[];
    assert.deepEqual(replayed.map(({ id }) => id).toSorted(), [mended, bad].toSorted());
    const others = (await get("?replayed=false&limit=200")).json.deadLetters as {
      id: string;
      replay: object | null;
    }[];
    assert.ok(others.every(({ id, replay }) => replay === null && !ids.slice(0, 2).includes(id)));

    const [line] = service.log.filter(({ msg }) => msg === "dead-letters.replayed");
    assert.deepEqual(
      [line?.["audit"], line?.["via"], line?.["by"], line?.["topic"], line?.["count"], line?.["ids"]],
      [true, "http", bootstrap.user, topic, 2, sent.json.sent],
    );
    const twice = (await post("replays", { ids: [mended] })).json;
    assert.deepEqual([twice.sent, twice.skipped[0].reason], [[], "replayed"]);
    assert.deepEqual((await post("replays", { ids: [mended], again: true, force: true })).json.sent, [
      mended,
    ]);
  });

  it("are superseded by later announcements, and by no replay of an earlier dead letter", async () => {
    const [one, other] = [definition(unique("holder")), definition(unique("holder"))];
    const externalId = unique("heir");
    const first = await announceRejected(one, { ...one, externalId });
    const second = await announceRejected(other, { ...other, externalId });
    await own.send(one.externalId, other.externalId);
    await waitUntilApplied();
    for (const id of [first, second]) {
      assert.deepEqual((await post("replays", { ids: [id] })).json.sent, [id]);
      await waitUntilApplied();
    }
    const earlier = (await post("replays", { ids: [first], again: true })).json;
    assert.deepEqual([earlier.sent, earlier.skipped[0].reason], [[], "superseded"]);
    assert.deepEqual((await post("replays", { ids: [second], again: true })).json.sent, [second]);
  });

  it("are sent with `force`, or if another program wrote them, by administrators only", async () => {
    const changing = definition(unique("changing"));
    const superseded = await announceRejected({ ...changing, name: "" });
    await own.send(changing);
    await waitUntilApplied();
    for (const more of [{}, { dryRun: true }]) {
      const { status, json } = await post("replays", { ids: [superseded], force: true, ...more }, manager);
      assert.deepEqual([status, json.error.code], [403, "FORBIDDEN"]);
    }
    const without = (await post("replays", { ids: [superseded] }, manager)).json;
    assert.deepEqual([without.sent, without.skipped[0].reason], [[], "superseded"]);

    const [{ id: strange }] = (await get("?code=OTHER")).json.deadLetters;
    const refused = (await post("replays", { ids: [strange, superseded] }, manager)).json;
    assert.deepEqual(refused.skipped.map(({ reason }: { reason: string }) => reason).toSorted(), [
      "forbidden",
      "superseded",
    ]);
    assert.deepEqual((await post("replays", { ids: [strange] })).json.sent, [strange]);
    assert.deepEqual((await post("replays", { ids: [superseded], force: true })).json.sent, [superseded]);
    const lines = service.log.filter(({ msg }) => msg === "dead-letters.replayed").slice(-2);
    assert.deepEqual(
      lines.map(({ ids, force }) => [ids, force]),
      [
        [[strange], undefined],
        [[superseded], true],
      ],
    );
  });

  it("leave an audit line when their content is read", async () => {
    const [{ id }] = (await get()).json.deadLetters;
    const before = service.log.filter(({ msg }) => msg === "dead-letters.read").length;
    await get(`/${id}`, manager);
    const lines = service.log.filter(({ msg }) => msg === "dead-letters.read").slice(before);
    assert.deepEqual(
      lines.map((line) => [line["audit"], line["by"], line["id"]]),
      [[true, manager.user, id]],
    );
  });

  it("are sent once by concurrent requests to several instances", async () => {
    const bad = await announceRejected({ externalId: unique("bad"), name: "" });
    const end = await waitUntilApplied();
    const other = await own.start();
    // Each instance has read the dead letter before the replays are requested.
    await call(`${other.url}${path}/${bad}`, { method: "GET" });
    await get(`/${bad}`);
    const urls = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? service : other).url);
    const responses = await Promise.all(urls.map((url) => post("replays", { ids: [bad] }, bootstrap, url)));
    const sent = responses.flatMap(({ json }) => json.sent as string[]);
    const reasons = responses
      .flatMap(({ json }) => json.skipped as { reason: string }[])
      .map(({ reason }) => reason);
    assert.deepEqual([sent, reasons], [[bad], Array.from({ length: 9 }, () => "replayed")]);
    assert.equal(await waitUntilApplied(), end + 1);
    assert.equal(await other.stop(), 0);
  });

  it("of push feedback are listed and replayed separately", async () => {
    await producer.send({ topic: feedbackTopic, messages: [{ value: "no report" }] });
    const channel = "push-feedback";
    const list = async () =>
      (await get(`?channel=${channel}`)).json as {
        total: number;
        deadLetters: { id: string; code: string }[];
      };
    await until("it is rejected", async () => (await list()).total === 1);
    const [{ id, code } = { id: "", code: "" }] = (await list()).deadLetters;
    assert.deepEqual([id, code], [`${feedbackTopic}-0-0`, "MALFORMED_JSON"]);
    assert.equal((await get(`/${id}`)).status, 404);
    assert.equal((await get(`/${id}?channel=${channel}`)).status, 200);
    const { json } = await post("replays", { ids: [id], channel });
    assert.deepEqual(json, { topic: feedbackTopic, sent: [id], skipped: [] });
    await until("it is rejected again", async () => (await list()).total === 2);
  });

  it("return 503 while Kafka is down", async () => {
    const proxy = await startKafkaProxy(own.settings.KAFKA_BROKERS);
    const cut = await own.start({ KAFKA_BROKERS: proxy.address });
    const list = () => call(`${cut.url}${path}`, { method: "GET" });
    assert.equal((await list()).status, 200);
    const feedback = await call(`${cut.url}${path}?channel=push-feedback`, { method: "GET" });
    assert.deepEqual(
      [feedback.status, feedback.json.error.detail],
      [404, "KAFKA_PUSH_FEEDBACK_TOPIC is not set."],
    );
    proxy.cut();
    const { status, json } = await list();
    assert.deepEqual([status, json.error.message], [503, "Kafka is unavailable."]);
    proxy.heal();
    await until("they are listed again", async () => (await list()).status === 200);
  });

  it("have no time if the record's timestamp is not one", async () => {
    const times = {
      "1795621585895000": null,
      "9223372036854775807": null,
      "253402300799999": "9999-12-31T23:59:59.999Z",
    };
    for (const [timestamp, time] of Object.entries(times)) {
      await producer.send({ topic, messages: [{ key: "wild", value: "{", timestamp }] });
      const id = `${topic}-0-${(await waitUntilApplied()) - 1}`;
      await until("the dead letter is stored", async () => (await get(`/${id}`)).status === 200);
      assert.equal((await get(`/${id}`)).json.time, time);
    }
  });
});
