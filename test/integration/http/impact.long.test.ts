/** `POST …/impact`: results, rights, limits, and what Kafka can answer. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { exitCodes } from "@topicsync/lib/errors";
import type { ImpactResult } from "../../../schemas/impact.ts";
import { roles } from "../../../src/users/user.ts";
import { assertError, call, type Call, type HttpResponse } from "../../support/http.ts";
import { deleteKafkaTopic, deleteRecordsBefore } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
import { addUser, bootstrap, runCli, runJson, type TestService } from "../../support/service.ts";

const { kafka, admin, routerScene } = routerStage();
const own = routerScene();
const manager = { user: unique("manager"), password: "a manager's password" };
const reader = { user: unique("reader"), password: "a reader's password" };
const secret = "secret-of-a-customer";
const minuteMs = 60_000;
const start = Date.now() - 100 * minuteMs;
const eventsPerPartition = 60;
let service: TestService;

const post = (body: unknown, options: Call = {}): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/impact`, { body, ...options });

/** Sends a body until Kafka is read in time: a busy machine may need longer than the ten seconds. */
const postInTime = (body: unknown, options?: Call): Promise<HttpResponse> =>
  until("the events are read in time", async () => {
    const response = await post(body, options);
    const { complete = true } = response.json as Partial<ImpactResult>;
    return response.status !== 503 && complete && response;
  });

async function preview(body: object, options?: Call): Promise<ImpactResult> {
  const { status, json, text } = await postInTime(body, options);
  assert.equal(status, 200, text);
  return json as ImpactResult;
}

const severities = ["Critical", "Major", "Minor"] as const;
const widen = {
  externalId: "critical",
  headerQuery: "eventType=Ticket",
  contentQuery: "severity=Critical,Major",
};

before(async () => {
  await own.createTopics(2);
  service = await own.start();
  await addUser(own.settings, manager.user, manager.password, "--role", roles.eventManagement);
  await addUser(own.settings, reader.user, reader.password, "--role", "topics.write", "events.read");
  for (const topic of [
    defineTopic("critical", "eventType=Ticket", "severity=Critical"),
    defineTopic("every", ""),
    { ...defineTopic("sold", "eventType=Sale"), namespace: "sales" },
  ])
    await own.post(service, topic);
  await own.produce(
    ...Array.from({ length: 2 * eventsPerPartition }, (_, at) => ({
      value: createEvent("Ticket", { severity: severities[at % 3], customer: `${secret}-${at}` }),
      partition: at % 2,
      timestamp: String(start + at * minuteMs),
    })),
    { value: "garbage", partition: 0, timestamp: String(start) },
  );
});

describe("a preview over HTTP", () => {
  it("counts what would match newly, no longer and still, with examples and consequences", async () => {
    const changes = [
      widen,
      { externalId: "every", contentQuery: "severity=Minor" },
      { externalId: "sold", disable: true },
      { externalId: "new", contentQuery: "severity!=Minor" },
    ];
    const { complete, read, topics, total } = await preview({ changes });
    assert.equal(complete, true);
    assert.deepEqual(
      topics.map(({ externalId, change, newly, noLonger, still, before: was, after: is }) => [
        ...[externalId, change, newly, noLonger, still, was, is],
      ]),
      [
        ["critical", "widened", 40, 0, 40, 40, 80],
        ["every", "narrowed", 0, 80, 40, 120, 40],
        ["sold", "removed", 0, 0, 0, 0, 0],
        ["new", "created", 80, 0, 0, 0, 80],
      ],
    );
    assert.deepEqual([total.newly, total.noLonger, total.still], [120, 80, 80]);
    assert.deepEqual([read.records, read.events, read.rejected], [121, 120, { MALFORMED_JSON: 1 }]);
    assert.equal(read.kafkaTopic, own.events);
    assert.deepEqual(read.partitions, [
      { partition: 0, from: 0, to: eventsPerPartition + 1 },
      { partition: 1, from: 0, to: eventsPerPartition },
    ]);
    assert.equal(read.firstTime, new Date(start).toISOString());
    assert.equal(read.lastTime, new Date(start + 119 * minuteMs).toISOString());
    const [critical] = topics;
    assert.equal(critical?.perDay?.copies, Math.round((40 * 1_440) / 119));
    assert.deepEqual(critical.examples.newly[0]?.decidedBy, [
      {
        version: "before",
        filter: "contentQuery",
        condition: "event.severity=Critical",
        held: false,
        found: ["Major"],
      },
    ]);
  });

  it("is repeated exactly by the offsets that it names, over HTTP and on the command line", async () => {
    const first = await preview({ changes: [widen], last: 50 });
    const offsets = first.read.partitions;
    assert.equal(
      offsets.reduce((sum, { from, to }) => sum + to - from, 0),
      50,
    );
    assert.deepEqual(await preview({ changes: [widen], offsets }), first);
    const ranges = offsets.map(({ partition, from, to }) => `${partition}:${from}-${to}`).join(",");
    const filters = ["--header-query", widen.headerQuery, "--content-query", widen.contentQuery];
    const args = ["topics", "impact", "--topic", "critical", ...filters, "--offsets", ranges];
    assert.deepEqual(await runJson(args, own.settings), first);
    const remote = {
      ...{ TOPICSYNC_SERVER: service.url, TOPICSYNC_USER: bootstrap.user },
      TOPICSYNC_PASSWORD: bootstrap.password,
    };
    assert.deepEqual(await runJson(args, remote), first);
    for (const refused of [
      ["topics", "impact", "--all"],
      [...args.slice(0, -2), "--kafka-topic", "other"],
    ]) {
      const { code, errors } = await runCli(refused, remote);
      assert.deepEqual(
        [code, /a server cannot do this with --(?:all|kafka-topic)/.test(errors)],
        [exitCodes.configuration, true],
        errors,
      );
    }
  });

  it("reads the records of a time", async () => {
    const at = (minute: number) => new Date(start + minute * minuteMs).toISOString();
    const { read } = await preview({ changes: [widen], from: at(100), to: at(110) });
    assert.deepEqual([read.events, read.firstTime, read.lastTime], [10, at(100), at(109)]);
  });

  it("needs the right to read events, since its counts tell what they contain, and is audited", async () => {
    const contentQuery = "customer=x";
    const body = {
      changes: [
        { externalId: "every", contentQuery },
        { ...widen, contentQuery },
      ],
    };
    const seen = await post(body);
    assert.match(seen.text, new RegExp(secret));
    const audited = service.log.filter(({ msg }) => msg === "events.read");
    assert.deepEqual(audited.at(-1)?.["topics"], ["every", "critical"]);
    const refused = await post(body, { as: manager });
    assertError(refused, 403, "FORBIDDEN");
    assert.match(refused.json.error.detail, /^The right events\.read is required/);
    const count = () => service.log.filter(({ msg }) => msg === "events.read").length;
    assert.equal(count(), audited.length);
    assert.equal((await post({ ...body, examples: 0 }, { as: reader })).status, 200);
    assert.equal(count(), audited.length + 1);
  });

  it("streams its progress and the result to who accepts server-sent events", async () => {
    const { status, headers, text } = await post(
      { changes: [widen] },
      { headers: { Accept: "text/event-stream" } },
    );
    assert.equal(status, 200);
    assert.match(headers.get("content-type") ?? "", /^text\/event-stream/);
    const events = text
      .split("\n\n")
      .filter((one) => one !== "")
      .map((one) => JSON.parse(one.replace(/^data: /, "")) as Record<string, unknown>);
    const progress = events.slice(0, -1) as { done: number; total: number }[];
    assert.ok(progress.length > 0, "no progress");
    for (const { done, total } of progress) assert.ok(done > 0 && done <= total && total === 121);
    const result = await preview({ changes: [widen] });
    assert.deepEqual(events.at(-1), { result });
  });

  it("streams an error that occurs while it runs", async () => {
    const offsets = [{ partition: 0, from: 0, to: 1_000 }];
    const { status, text } = await post(
      { changes: [widen], offsets },
      { headers: { Accept: "text/event-stream" } },
    );
    assert.equal(status, 200);
    const { error } = JSON.parse(text.replace(/^data: /, "")) as { error: { code: string } };
    assert.equal(error.code, "SCHEMA_VIOLATION");
  });

  it("runs in a process as it is published", async () => {
    const other = await own.startProcess();
    const response = await call(`${other.url}/api/topicsync/v1/impact`, { body: { changes: [widen] } });
    assert.deepEqual(response.json, await preview({ changes: [widen] }));
    await other.stop();
  });

  it("runs one at a time, and the next one after it or after its client left", async () => {
    const many = Array.from({ length: 8 }, () => post({ changes: [widen] }));
    const statuses = (await Promise.all(many)).map((response) => {
      if (response.status !== 200) {
        assertError(response, 503, "OVERLOADED");
        assert.ok(Number(response.headers.get("retry-after")) > 0);
      }
      return response.status;
    });
    assert.ok(statuses.includes(200) && statuses.includes(503), statuses.join());
    const leaving = new AbortController();
    const response = await fetch(`${service.url}/api/topicsync/v1/impact`, {
      method: "POST",
      headers: {
        Accept: "text/event-stream",
        "Content-Type": "application/json",
        Authorization: `Basic ${Buffer.from(`${reader.user}:${reader.password}`).toString("base64")}`,
      },
      body: JSON.stringify({ changes: [widen] }),
      signal: leaving.signal,
    });
    assert.equal(response.status, 200);
    leaving.abort();
    await until("the next one runs", async () => (await post({ changes: [widen] })).status === 200);
  });
});

describe("a preview is rejected", () => {
  it("for bodies that are huge, empty, hostile or contradictory", async () => {
    const manyChanges = Array.from({ length: 101 }, (_, at) => ({ externalId: `t${at}` }));
    const time = new Date(start).toISOString();
    for (const [body, path] of [
      [{}, "/changes"],
      [{ changes: [] }, "/changes"],
      [{ changes: manyChanges }, "/changes"],
      [{ changes: [{ externalId: "" }] }, "/changes/0/externalId"],
      [{ changes: [{ externalId: "a\0b" }] }, "/changes/0/externalId"],
      [{ changes: [{ externalId: { $ne: "" } }] }, "/changes/0/externalId"],
      [{ changes: [{ externalId: "a", headerquery: "b=1" }] }, "/changes/0/headerquery"],
      [{ changes: [widen], last: 100_001 }, "/last"],
      [{ changes: [widen], last: 0 }, "/last"],
      [{ changes: [widen], from: "yesterday" }, "/from"],
      [{ changes: [widen], examples: 6 }, "/examples"],
      [{ changes: [widen], last: 5, from: time }, "/last"],
      [{ changes: [widen], from: time, offsets: [{ partition: 0, from: 0, to: 1 }] }, "/offsets"],
      [{ changes: [widen], offsets: [{ partition: 0, from: -1, to: 1 }] }, "/offsets/0/from"],
      [{ changes: [widen], offsets: [{ partition: 9, from: 0, to: 1 }] }, "/offsets/0"],
      [{ changes: [widen], offsets: [{ partition: 0, from: 0, to: 10_000 }] }, "/offsets/0"],
      [{ changes: [widen], offsets: [{ partition: 0, from: 0, to: 2 ** 53 - 1 }] }, "/offsets/0"],
    ] as const) {
      const response = await postInTime(body);
      assertError(response, 400, "SCHEMA_VIOLATION");
      assert.equal(response.json.error.details[0].path, path, JSON.stringify(body).slice(0, 200));
    }
    assertError(await post({ changes: [widen], more: "x".repeat(110_000) }), 413, "BODY_TOO_LARGE");
    assertError(await post("{"), 400, "MALFORMED_JSON");
  });

  it("for invalid filters and topics that occur twice, with every place", async () => {
    const broken = { externalId: "critical", contentQuery: "a=1;b=2", headerQuery: "(" };
    const response = await post({ changes: [widen, broken, { externalId: "x", disable: false }] });
    assertError(response, 400, "BAD_FILTER");
    assert.deepEqual(
      response.json.error.details.map(({ path }: { path: string }) => path),
      ["/changes/1/externalId", "/changes/1/headerQuery", "/changes/1/contentQuery"],
    );
  });

  it("for a topic that would be disabled and does not exist", async () => {
    assertError(await post({ changes: [{ externalId: "nothing", disable: true }] }), 404, "NOT_FOUND");
  });

  it("for a type that it cannot return", async () => {
    assertError(
      await post({ changes: [widen] }, { headers: { Accept: "text/html" } }),
      406,
      "NOT_ACCEPTABLE",
    );
  });

  it("for offsets that Kafka no longer keeps, with those that it keeps", async () => {
    await deleteRecordsBefore(admin, { topic: own.events, partition: 1, offset: 20 });
    const offsets = [{ partition: 1, from: 19, to: 30 }];
    const response = await postInTime({ changes: [widen], offsets });
    assertError(response, 400, "SCHEMA_VIOLATION");
    assert.match(response.json.error.details[0].message, /no longer keeps: begin with 20 or a later one$/);
    const { read } = await preview({ changes: [widen] });
    assert.deepEqual(read.partitions[1], { partition: 1, from: 20, to: eventsPerPartition });
  });

  it("while the Kafka topic does not exist, and never a smaller result", async () => {
    await deleteKafkaTopic({ kafka, admin }, own.events);
    const response = await post({ changes: [widen] });
    assertError(response, 503, "UNAVAILABLE");
  });
});
