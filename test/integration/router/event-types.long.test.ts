import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { EventTypeList, EventTypeView } from "../../../schemas/event-types.ts";
import type { TopicCheck } from "../../../schemas/topics/check.ts";
import { assertError, call } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { createEvent, defineTopic, routerStage, sampled } from "../../support/router-scene.ts";
import type { TestService } from "../../support/service.ts";

const { routerScene } = routerStage();
const scene = routerScene();
const v1 = "/api/topicsync/v1";
const type = "TroubleTicketCreateEvent";
const misspelled = { ...defineTopic("misspelled", ""), contentQuery: "troubleTicket.severty=Critical" };
const otherCase = { headerQuery: `eventType=${type}`, contentQuery: "troubleTicket.severity=critical" };
const keys = { reader: "", writer: "", limited: "" };
let service: TestService;

before(async () => {
  await scene.createTopics(3);
  await scene.produce(
    ...Array.from({ length: 40 }, (_, n) => ({
      value: createEvent(type, {
        troubleTicket: { severity: n % 2 === 0 ? "Critical" : "Minor", priority: n },
      }),
      timestamp: String(Date.UTC(2026, 10, 3, 15, 40, n)),
      partition: n % 2,
    })),
    { value: "[]", partition: 2 },
  );
  service = await scene.start();
  await sampled(service);
  const writing = ["topics.read", "topics.write"];
  keys.reader = await createKey(service.url, ...writing, "dead-letters.read-content", "admin");
  keys.writer = await createKey(service.url, ...writing);
  keys.limited = await createKey(service.url, "topics.read@n", "topics.write@n");
});

const get = async <T>(path: string, key: string): Promise<T> => {
  const { status, json, text } = await call(`${service.url}${v1}/${path}`, { method: "GET", key });
  assert.equal(status, 200, text);
  return json as T;
};

async function check(filters: object, key: string): Promise<TopicCheck["warnings"]> {
  const body = { namespace: "n", ...filters };
  const { json } = await call(`${service.url}${v1}/topic-check`, { body, key });
  return (json as unknown as TopicCheck).warnings;
}

describe("a sample of the events topic", () => {
  const sample = {
    ...{ events: 40, rejected: 1 },
    ...{ from: "2026-11-03T15:40:00.000Z", to: "2026-11-03T15:40:39.000Z" },
  };

  it("shows the types of events and their paths, with values only to who may read events", async () => {
    assert.deepEqual(await get<EventTypeList>("event-types", keys.writer), {
      sample,
      eventTypes: [{ name: type, events: 40, share: 1, complete: true, pathCount: 7 }],
    });
    const shown = await get<EventTypeView>(`event-types/${type}`, keys.reader);
    assert.deepEqual([shown.sample, shown.events, shown.share, shown.complete], [sample, 40, 1, true]);
    assert.deepEqual(
      shown.paths.map(({ path, filter, name, share, kinds, values }) => [
        ...[path, filter, name, share, Object.keys(kinds).join(), values],
      ]),
      [
        ["eventId", "headerQuery", "eventId", 1, "string", undefined],
        ["@type", "headerQuery", "@type", 1, "string", ["Event"]],
        ["eventType", "headerQuery", "eventType", 1, "string", [type]],
        ["event", "headerQuery", "event", 1, "object", undefined],
        ["event.troubleTicket", "contentQuery", "troubleTicket", 1, "object", undefined],
        [
          ...["event.troubleTicket.severity", "contentQuery", "troubleTicket.severity"],
          ...[1, "string", ["Critical", "Minor"]],
        ],
        [
          ...["event.troubleTicket.priority", "contentQuery", "troubleTicket.priority"],
          ...[1, "number", undefined],
        ],
      ],
    );
    const withoutValues = await get<EventTypeView>(`event-types/${type}`, keys.writer);
    assert.deepEqual(
      withoutValues.paths.map(({ path, kinds, share }) => ({ path, kinds, share })),
      shown.paths.map(({ path, kinds, share }) => ({ path, kinds, share })),
    );
    assert.ok(withoutValues.paths.every((one) => !("values" in one)));
    const other = await call(`${service.url}${v1}/event-types/Other`, { method: "GET" });
    assertError(other, 404, "NOT_FOUND");
  });

  it("warns about filters: when they are checked, looked up for a plan, and stored", async () => {
    const [warning, ...others] = await check(misspelled, keys.writer);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [warning?.code, warning?.filter, warning?.suggestions[0]],
      ["UNKNOWN_PATH", "contentQuery", { filter: "contentQuery", text: "troubleTicket.severity" }],
    );
    const message =
      "`troubleTicket.severty` did not occur in 40 sampled events since 3 Nov 2026, 15:40 UTC; did you mean `troubleTicket.severity` (100 %)?";
    assert.equal(warning?.message, message);

    const body = { definitions: [misspelled] };
    const lookUp = (key: string) => call(`${service.url}${v1}/topic-look-up`, { body, key });
    assert.deepEqual((await lookUp(keys.writer)).json.warnings, [[warning]]);
    assert.deepEqual((await lookUp(keys.limited)).json.warnings, [[]]);
    assert.deepEqual(await check(misspelled, keys.limited), []);

    const created = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body: misspelled });
    assert.equal(created.status, 201);
    assert.equal(created.headers.get("topicsync-warning"), `UNKNOWN_PATH contentQuery: ${message}`);
    const changed = await call(`${service.url}${v1}/topics/misspelled`, {
      ...{ method: "PUT", headers: { "If-Match": "*" } },
      body: { ...misspelled, name: "still misspelled" },
    });
    assert.equal(changed.headers.get("topicsync-warning"), created.headers.get("topicsync-warning"));
  });

  it("compares with values only for who may read events", async () => {
    const [warning] = await check(otherCase, keys.reader);
    assert.deepEqual(
      [warning?.code, warning?.suggestions],
      ["UNKNOWN_VALUE", [{ filter: "contentQuery", text: "Critical" }]],
    );
    assert.deepEqual(await check(otherCase, keys.writer), []);
  });
});
