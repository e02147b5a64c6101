/** `…/events`: lists, traces and sent events, and the rights to see them. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { EventItem, EventList, EventTrace, SentEvents } from "../../../schemas/events.ts";
import { assertError, call, type Call, type HttpResponse } from "../../support/http.ts";
import { useFolder } from "../../support/folder.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, getText, routerStage } from "../../support/router-scene.ts";
import { addUser, bootstrap, runCli, type TestService } from "../../support/service.ts";

const { routerScene } = routerStage();
const own = routerScene({ KAFKA_EGRESS_TOPIC: "to.{externalId}", KAFKA_EGRESS_CREATE: "true" });
const folder = useFolder();
const password = "a long password";
const [limited, sender, manager] = [unique("limited"), unique("sender"), unique("manager")];
/** When the topics are stored. The events are 10 ms apart. */
let start = 0;
/** Of both partitions in turn. */
const count = 200;
let service: TestService;

const path = "/api/topicsync/v1/events";
const get = (rest = "", options: Call = {}): Promise<HttpResponse> =>
  call(`${service.url}${path}${rest}`, { method: "GET", ...options });

async function list(query = "", options?: Call): Promise<EventList> {
  const { status, json, text } = await get(query, options);
  assert.equal(status, 200, text);
  return json as EventList;
}

async function trace(id: string, query = "", options?: Call): Promise<EventTrace> {
  const { status, json, text } = await get(`/${id}${query}`, options);
  assert.equal(status, 200, text);
  return json as EventTrace;
}

const toIds = (events: readonly EventItem[]): string[] => events.map(({ id }) => id);
const toName = (at: number): string => `${own.events}-${at % 2}-${Math.floor(at / 2)}`;
const all = Array.from({ length: count }, (_, at) => toName(at)).reverse();

before(async () => {
  await own.createTopics(2);
  service = await own.start();
  await addUser(own.settings, limited, password, "--role", "events.read@sales.*");
  await addUser(own.settings, sender, password, "--role", "events.send");
  await addUser(own.settings, manager, password, "--role", "topics.read");
  for (const topic of [
    defineTopic("tickets", "eventType=Ticket"),
    { ...defineTopic("sold", "eventType=Sale"), namespace: "sales.north" },
  ])
    await own.post(service, topic);
  await own.stored(2);
  start = Date.now() + 1;
  await own.produce(
    ...Array.from({ length: count }, (_, at) => ({
      value: at === 7 ? "no JSON" : createEvent(["Ticket", "Sale", "Other"][at % 3] ?? "", { number: at }),
      key: `key-${at}`,
      partition: at % 2,
      timestamp: String(start + at * 10),
    })),
  );
  await own.routed();
});

describe("a list of events", () => {
  it("has the latest first, over partitions and pages", async () => {
    const found: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const page: EventList = await list(`?limit=30${next === "" ? "" : `&after=${next}`}`);
      found.push(...toIds(page.events));
      ({ next } = page);
    }
    assert.deepEqual(found, all);
  });

  it("says what is in an event, and its outcome", async () => {
    const { events } = await list("?limit=200");
    const [ticket, , bad] = [198, 197, 7].map((at) => events.find(({ id }) => id === toName(at)));
    const { eventId, excerpt, bytes, ...rest } = ticket ?? assert.fail();
    assert.deepEqual(rest, {
      ...{ id: toName(198), partition: 0, offset: 99, key: "key-198" },
      time: new Date(start + 1_980).toISOString(),
      ...{ eventType: "Ticket", outcome: "matched", topics: 1 },
    });
    assert.ok(excerpt.startsWith(`{"eventId":"${eventId}"`) && bytes > excerpt.length);
    assert.deepEqual([bad?.outcome, bad?.code, bad?.excerpt], ["rejected", "MALFORMED_JSON", "no JSON"]);
  });

  for (const [name, query, isWanted] of [
    ["type", "type=Sale", (at: number) => at % 3 === 1 && at !== 7],
    ["topic", "topic=tickets", (at: number) => at % 3 === 0],
    ["key", "key=key-12", (at: number) => at === 12],
    ["words", 'text=OTHER%20"number":1', (at: number) => at % 3 === 2 && String(at).startsWith("1")],
    ["words of what is no event", "text=no%20json", (at: number) => at === 7],
    ["outcome", "outcome=unmatched", (at: number) => at % 3 === 2],
  ] as const)
    it(`is filtered by ${name}`, async () => {
      const wanted = all.filter((_, index) => isWanted(count - 1 - index));
      assert.deepEqual(toIds((await list(`?limit=200&${query}`)).events), wanted);
    });

  it("is filtered by times", async () => {
    const [from, to] = [100, 200].map((ms) => new Date(start + ms).toISOString());
    const wanted = all.slice(-20, -10);
    assert.deepEqual(toIds((await list(`?from=${from}&to=${to}`)).events), wanted);
  });

  it("is a list of one's own for a right in a namespace", async () => {
    const as = { user: limited, password };
    const { events } = await list("?limit=200", { as });
    assert.ok(events.length > 0 && events.every(({ eventType }) => eventType === "Sale"));
    assertError(await get("?topic=tickets", { as }), 404, "NOT_FOUND");
    assertError(await get("", { as: { user: manager, password } }), 403, "FORBIDDEN");
  });

  it("rejects what cannot be searched, with all faults", async () => {
    const bad = await get("?from=yesterday&limit=0&outcome=lost");
    assertError(bad, 400, "SCHEMA_VIOLATION");
    assert.equal(bad.json.error.details.length, 3);
    assertError(await get("?after=abc"), 400, "SCHEMA_VIOLATION");
  });
});

describe("one event", () => {
  it("is shown with its topics then and now, its copies, and why another topic does not match", async () => {
    await own.post(service, defineTopic("later", "eventType=Ticket"));
    const found = await until("the new topic is known", async () => {
      const event = await trace(toName(198), "?explain=sold");
      return event.now.total === 2 && event;
    });
    assert.deepEqual(
      [found.now, found.then].map((one) => one?.topics.map(({ externalId }) => externalId)),
      [["later", "tickets"], ["tickets"]],
    );
    const [copy] = (await own.readAll("to.tickets")).filter(
      (one) => getText(one, "topicsync.event") === toName(198),
    );
    assert.deepEqual(found.copies, [
      {
        externalId: "tickets",
        kafkaTopic: "to.tickets",
        ...{ partition: copy?.partition, offset: copy?.offset },
      },
    ]);
    assert.deepEqual([found.copiesComplete, found.waitsFor, found.deadLetter], [true, 0, null]);
    const [condition] = found.explain?.now?.conditions ?? [];
    assert.deepEqual([condition?.condition, condition?.found], ["eventType=Sale", ["Ticket"]]);
    assert.deepEqual(found.key, { text: "key-198" });
  });

  it("is found by its eventId", async () => {
    const { eventId } = await trace(toName(5));
    assert.equal((await trace(eventId ?? "")).id, toName(5));
  });

  it("is a dead letter, with what is wrong", async () => {
    const found = await until("the dead letter is stored", async () => {
      const event = await trace(toName(7));
      return event.deadLetter !== null && event;
    });
    assert.deepEqual([found.code, found.deadLetter?.id], ["MALFORMED_JSON", toName(7)]);
    assert.deepEqual(found.value, { text: "no JSON" });
  });

  it("does not exist for others", async () => {
    const as = { user: limited, password };
    assert.equal((await trace(toName(4), "", { as })).outcome, "matched");
    for (const id of [toName(198), toName(7), `${own.events}-0-9999`, `${own.events}-9-0`, "nobody"])
      assertError(await get(`/${id}`, { as }), 404, "NOT_FOUND");
  });
});

describe("sending events", () => {
  const send = (
    body: unknown,
    query = "",
    as: Call["as"] = { user: sender, password },
  ): Promise<HttpResponse> => call(`${service.url}${path}${query}`, { body, as });

  it("answers with their ids and outcomes", async () => {
    const record = encodeURIComponent(JSON.stringify({ $key: "k", $header: { trace: ["1", null] } }));
    const events = [createEvent("Ticket"), createEvent("Other")];
    const { status, json, text } = await send(events, `?wait=routed&sample=true&record=${record}`);
    assert.equal(status, 201, text);
    const { events: sent } = json as SentEvents;
    assert.deepEqual(
      sent.map(({ outcome, topics }) => [outcome, topics]),
      [
        ["matched", 2],
        ["unmatched", 0],
      ],
    );
    const [copy] = (await own.readAll("to.tickets")).filter(
      (one) => getText(one, "topicsync.event") === sent[0]?.id,
    );
    assert.equal(getText(copy ?? assert.fail(), "topicsync.sample"), sender);
    assert.deepEqual([copy?.key?.toString(), copy?.value?.toString()], ["k", JSON.stringify(events[0])]);
  });

  it("keeps numbers as they are, and opens CloudEvents", async () => {
    const body = `[{"eventType":"Ticket","event":{"number":12345678901234567890.10}}, {"specversion":"1.0","id":"1","source":"/","type":"t","data":{"eventType":"Ticket"}}]`;
    const { json, text } = await send(body);
    const [first, second] = (json as SentEvents).events;
    assert.ok(first && second, text);
    assert.match((await trace(first.id)).value?.text ?? "", /12345678901234567890\.10/);
    assert.equal((await trace(second.id)).eventType, "Ticket");
  });

  it("sends none if one is not valid, and names all faults", async () => {
    const before = (await list("?limit=1")).events[0]?.id;
    const bad = await send([createEvent("Ticket"), { eventId: 5, eventType: 1 }, {}]);
    assertError(bad, 400, "SCHEMA_VIOLATION");
    assert.deepEqual(
      bad.json.error.details.map((fault: { path: string }) => fault.path),
      ["/1/eventId", "/1/eventType", "/2"],
    );
    for (const body of [[], Array(501).fill(createEvent("Ticket")), 1, null])
      assertError(await send(body), 400, "SCHEMA_VIOLATION");
    assertError(await send("{"), 400, "MALFORMED_JSON");
    assert.equal((await list("?limit=1")).events[0]?.id, before);
    assertError(await send(createEvent("Ticket"), "", { user: manager, password }), 403, "FORBIDDEN");
  });
});

describe("topicsync events", () => {
  it("lists, and says how many others there are", async () => {
    const { output, errors } = await own.cli("events", "list", "--limit", "2", "--type", "Sale");
    const lines = output.trimEnd().split("\n");
    assert.match(lines[0] ?? "", /^time +id +type +event id +topics$/, errors);
    assert.match(lines[1] ?? "", new RegExp(`^\\S+Z +${own.events}-1-99 +Sale +event-[0-9a-f]+ +1$`));
    assert.deepEqual(lines.slice(3), ["2 events; 193 earlier records not listed"]);
  });

  it("searches the whole log, in its own process or on a server", async () => {
    const { eventId } = await trace(toName(1));
    const remote = {
      TOPICSYNC_SERVER: service.url,
      TOPICSYNC_USER: bootstrap.user,
      TOPICSYNC_PASSWORD: bootstrap.password,
    };
    for (const settings of [own.settings, remote]) {
      const found = await runCli(["events", "list", "--event-id", eventId ?? "", "--json"], settings);
      assert.deepEqual(
        parseNdjson(found.output).map((one) => (one as EventItem).id),
        [toName(1)],
        found.errors,
      );
    }
  });

  it("shows an event, and traces it", async () => {
    const shown = await own.cli("events", "show", toName(198));
    assert.match(
      shown.output,
      /^id +\S+-0-99\ntime +\S+Z\nkey +key-198\n\{\n {2}"eventId": .*\n[^]*"number": 198\n {2}\}\n\}\n$/,
    );
    const traced = await own.cli("events", "trace", toName(198), "--explain", "sold");
    const lines = traced.output.split("\n").map((line) => line.replaceAll(/ {2,}/g, "  "));
    assert.deepEqual(
      lines.slice(1, 12).filter((line) => line !== ""),
      [
        "The router has read it.",
        "topic  name  namespace  then  now  kafka topic",
        "tickets  tickets  n  version 1  yes  to.tickets",
        "later  later  n  no  yes  to.later",
        "copy for  kafka topic  partition  offset",
        `tickets  to.tickets  0  ${lines[8]?.split(" ").at(-1)}`,
        "The event does not match sold:",
        "holds  filter  condition  values in the event",
      ],
      traced.errors,
    );
  });

  it("sends", async () => {
    const file = folder.createFile("event.json", JSON.stringify(createEvent("Ticket")));
    const sent = await own.cli("events", "send", file, "--key", "k", "--header", "a=b=c", "--header", "a=d");
    const [, line = ""] = sent.output.split("\n");
    assert.match(line, new RegExp(`^${own.events}-\\d-\\d+ +matched +2$`), sent.errors);
    const { key, headers } = await trace(line.split(" ", 1)[0] ?? "");
    assert.deepEqual(key, { text: "k" });
    assert.deepEqual(headers, [
      { name: "a", value: { text: "b=c" } },
      { name: "a", value: { text: "d" } },
    ]);
  });
});
