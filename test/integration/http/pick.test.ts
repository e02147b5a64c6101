import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { createValidator } from "@topicsync/lib/validation";
import { pickResponseSchema, type PickResponse } from "../../../schemas/pick.ts";
import { getPort } from "../../support/local.ts";
import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { ownNames, startTopicsyncHere } from "../../support/service.ts";
import { databaseUri, sharedStack } from "../../support/stack.ts";

const service = useService();
const check = createValidator<PickResponse>(pickResponseSchema);

const create = (externalId: string, filters: object): Promise<HttpResponse> =>
  call(`${service.url}/api/svc_api_notif_mgmt/topic`, {
    body: { externalId, name: `Topic ${externalId}`, namespace: "assurance", ...filters },
  });
const pick = (
  body: unknown,
  query = "",
  path = "/api/svc_api_notif_mgmt/topic/pick",
): Promise<HttpResponse> => call(`${service.url}${path}${query}`, { body });
const getExternalIds = ({ json }: HttpResponse): string[] =>
  (json as PickResponse).topics.map(({ externalId }) => externalId);

const event = {
  eventId: "e-1",
  "@type": "TroubleTicketCreateEvent",
  eventType: "TroubleTicketCreateEvent",
  event: { troubleTicket: { severity: "Critical", ticketType: "incident", tags: ["dsl", "night"] } },
};

describe("picking the topics of an event", () => {
  before(async () => {
    await create("tickets", { headerQuery: "eventType=TroubleTicketCreateEvent" });
    await create("critical", {
      contentQuery: "troubleTicket.severity=Major,Critical&troubleTicket.tags=night",
    });
    await create("minor", { contentQuery: "troubleTicket.severity=Minor&troubleTicket.owner!=x" });
    await service.db.collection("svc_api_notif_mgmt_topic").insertOne({
      ...{ topic_id: "old", topic_name: "old", namespace: "", header_query: "a", content_query: "" },
      sys_updated_on: new Date(),
    });
  });

  it("loads the topics for the first event and returns the four members of each match", async () => {
    const response = await pick(event);
    assert.equal(response.status, 200, response.text);
    assert.ok(check(response.json).ok);
    assert.deepEqual(getExternalIds(response), ["critical", "tickets"]);
    const { id, ...rest } = (response.json as PickResponse).topics[0] ?? {};
    assert.match(id ?? "", /^[0-9a-f]{32}$/);
    assert.deepEqual(rest, { externalId: "critical", name: "Topic critical", namespace: "assurance" });
  });

  it("returns 503 if loading takes more than ten seconds, and picks once the topics are loaded", async () => {
    const proxy = await startMongoProxy(getPort(sharedStack().mongodb));
    const proxied = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
    const other = await startTopicsyncHere({
      ...service.settings,
      ...ownNames(),
      MONGODB_URI: databaseUri(proxied, service.db.databaseName),
    });
    await other.ready();
    const url = `${other.url}/api/svc_api_notif_mgmt/topic/pick`;
    // The caller is cached from now on.
    assert.equal((await call(url, { body: [] })).status, 400);
    proxy.freeze();
    const late = await call(url, { body: event });
    assertError(late, 503, "UNAVAILABLE");
    assert.match(late.json.error.message, /being loaded/);
    assert.ok(Number(late.headers.get("retry-after")) > 0);
    proxy.heal();
    await until("the topics are loaded", async () => (await call(url, { body: event })).status === 200);
    await other.stop();
  });

  it("works at every versioned path, also under the original prefix", async () => {
    for (const prefix of ["/api/svc_api_notif_mgmt", "/api/sn_api_notif_mgmt"]) {
      for (const version of ["", "/v1", "/v2"]) {
        const response = await pick(event, "", `${prefix}${version}/topic/pick`);
        assert.deepEqual(getExternalIds(response), ["critical", "tickets"], response.text);
      }
    }
  });

  it("finds a topic as soon as it is created", async () => {
    await create("new", { contentQuery: "troubleTicket.ticketType=incident" });
    assert.deepEqual(getExternalIds(await pick(event)), ["critical", "new", "tickets"]);
  });

  it("explains a topic condition by condition", async () => {
    const response = await pick(event, "?explain=minor");
    assert.ok(check(response.json).ok, response.text);
    assert.deepEqual((response.json as PickResponse).explain, {
      externalId: "minor",
      matches: false,
      conditions: [
        {
          filter: "contentQuery",
          condition: "event.troubleTicket.severity=Minor",
          held: false,
          found: ["Critical"],
        },
        { filter: "contentQuery", condition: "event.troubleTicket.owner!=x", held: false, found: [] },
      ],
    });
    const critical = (await pick(event, "?explain=critical")).json as PickResponse;
    assert.equal(critical.explain?.matches, true);
    assert.deepEqual(critical.explain.conditions[1]?.found, ["dsl", "night"]);
  });

  it("reads the body as the router does: a byte order mark, null members, the data of a CloudEvent", async () => {
    const cloudEvent = { specversion: "1.0", id: "1", source: "/", type: "t", data: event };
    for (const body of [`\uFEFF${JSON.stringify(event)}`, { ...event, eventId: null }, cloudEvent])
      assert.deepEqual(getExternalIds(await pick(body)), ["critical", "new", "tickets"]);
    assertError(await pick({ ...cloudEvent, datacontenttype: "text/plain" }), 400, "UNDECODABLE");
  });

  it("reports why a topic cannot be explained", async () => {
    const unknown = await pick(event, "?explain=nowhere");
    assert.equal(unknown.status, 404);
    assert.match(unknown.json.error.message, /"nowhere"/);
    const old = await pick(event, "?explain=old");
    assertError(old, 400, "BAD_FILTER");
    assert.equal(old.json.error.details[0].path, "/headerQuery");
    for (const query of ["?explain=", "?explain=a&explain=b"])
      assert.equal((await pick(event, query)).status, 400, query);
  });

  it("rejects what is not an event, and callers without the role", async () => {
    for (const body of [[], [event], JSON.stringify("text"), 1, null, { eventId: 5 }, { event: [] }, {}])
      assertError(await pick(body), 400, "SCHEMA_VIOLATION");
    const connect = await pick({ schema: {}, payload: event });
    assert.match(connect.json.error.message, /Kafka Connect: set value\.converter\.schemas\.enable=false/);
    await service.addUser("device", "secret secret");
    const url = `${service.url}/api/svc_api_notif_mgmt/topic/pick`;
    const as = { user: "device", password: "secret secret" };
    assert.equal((await call(url, { body: event, as })).status, 403);
    assert.equal((await call(url, { body: event, as: undefined })).status, 401);
    assert.equal((await call(url, { method: "GET" })).status, 405);
  });

  it("names the Kafka topic of each topic when a router is configured", async () => {
    const other = await startTopicsyncHere({
      ...service.settings,
      ...ownNames(),
      KAFKA_EVENTS_TOPIC: unique("events"),
      KAFKA_EGRESS_TOPIC: "__{namespace}.{externalId}",
    });
    await other.ready();
    const response = await call(`${other.url}/api/svc_api_notif_mgmt/topic/pick`, { body: event });
    assert.ok(check(response.json).ok, response.text);
    const { egressTopic, egressFault } = (response.json as PickResponse).topics[0] ?? {};
    assert.equal(egressTopic, "__assurance.critical");
    assert.match(egressFault ?? "", /reserved/);
    await other.stop();
  });

  it("matches filters on the record that carries the event, if it is given", async () => {
    const filter = "$key=a&$header.source=crm&$ce.type.prefix=com.";
    const carried = { ...event, eventType: unique("type") };
    const headerQuery = `eventType=${carried.eventType}&${filter}`;
    assert.equal((await create("carried", { headerQuery })).status, 201);
    const ask = (record: string): Promise<HttpResponse> =>
      pick(carried, `?explain=carried&record=${encodeURIComponent(record)}`);

    const record = { $key: "a", $header: { source: ["mail", "crm"] }, $ce: { type: "com.example" } };
    const response = await ask(JSON.stringify(record));
    assert.ok(getExternalIds(response).includes("carried"));
    const { explain } = response.json as PickResponse;
    assert.equal(explain?.matches, true);
    assert.deepEqual(explain.conditions.map(({ found }) => found).slice(1), [
      ["a"],
      ["mail", "crm"],
      ["com.example"],
    ]);
    assert.ok(!getExternalIds(await ask(`{"$key":"b"}`)).includes("carried"));

    for (const [wrong, fault] of [
      ["", { path: "/record", message: "must not be empty" }],
      ['{"$key', { path: "/record", message: "is not JSON" }],
      ['{"$key":1}', { path: "/record/$key", message: "must be a string or null, but is a number" }],
    ] as const) {
      const rejected = await ask(wrong);
      assertError(rejected, 400, "SCHEMA_VIOLATION");
      assert.deepEqual((rejected.json as { error: { details: unknown } }).error.details, [fault]);
    }
    assertError(await pick(carried, "?record={}&record={}"), 400, "SCHEMA_VIOLATION");
  });

  it("counts topics with valid and invalid filters, and without any, in the metrics", async () => {
    const readMetrics = async (): Promise<string> =>
      (await call(`${service.url}/metrics`, { method: "GET", as: undefined })).text;
    const text = await readMetrics();
    assert.match(text, /^topicsync_picker_topics 5$/m);
    assert.match(text, /^topicsync_picker_unreadable_topics 1$/m);
    assert.match(text, /^topicsync_picker_unconditional_topics 0$/m);
    await create("all", {});
    await until("the topic without conditions is counted", async () =>
      /^topicsync_picker_unconditional_topics 1$/m.test(await readMetrics()),
    );
  });
});
