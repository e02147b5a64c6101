import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { EventTypeView } from "../../../schemas/event-types.ts";
import type { TopicCheck } from "../../../schemas/topic-check.ts";
import { call } from "../../support/http.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";

const { routerScene } = routerStage();

const createTicket = (severity: string, more: object = {}) => ({
  value: createEvent("TroubleTicketCreateEvent", { troubleTicket: { severity, ...more } }),
});

describe("a router that learns", () => {
  it("stores what events look like, for commands, HTTP and the check of a topic", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const first = await scene.start();
    await scene.send(defineTopic("all", ""));
    await scene.stored(1);
    await scene.produce(
      ...Array.from({ length: 40 }, (_, n) =>
        createTicket(n % 2 === 0 ? "Critical" : "Minor", n < 10 ? { priority: n } : {}),
      ),
    );
    await scene.routed();
    await first.stop();

    const shown = await scene.cli("events", "show", "TroubleTicketCreateEvent", "--json");
    assert.equal(shown.code, 0, shown.errors);
    const type = JSON.parse(shown.output) as EventTypeView;
    assert.deepEqual([type.events, type.sampled, type.share, type.complete], [40, 40, 1, true]);
    assert.deepEqual(
      type.paths.map(({ path, filter, name, events, kinds }) => [path, filter, name, events, kinds]),
      [
        ["eventId", "headerQuery", "eventId", 40, { string: 40 }],
        ["@type", "headerQuery", "@type", 40, { string: 40 }],
        ["eventType", "headerQuery", "eventType", 40, { string: 40 }],
        ["event", "headerQuery", "event", 40, { object: 40 }],
        ["event.troubleTicket", "contentQuery", "troubleTicket", 40, { object: 40 }],
        ["event.troubleTicket.severity", "contentQuery", "troubleTicket.severity", 40, { string: 40 }],
        ["event.troubleTicket.priority", "contentQuery", "troubleTicket.priority", 10, { number: 10 }],
      ],
    );
    const listed = await scene.cli("events", "types");
    assert.match(listed.output, /^type .*\nTroubleTicketCreateEvent +40 +100 % +40 +7 /);

    const second = await scene.start();
    const get = (path: string) => call(`${second.url}/api/topicsync/v1/${path}`, { method: "GET" });
    assert.deepEqual((await get("event-types/TroubleTicketCreateEvent")).json, type);
    assert.equal((await get("event-types/Other")).status, 404);
    const { json } = await call(`${second.url}/api/topicsync/v1/topic-check`, {
      body: { contentQuery: "troubleTicket.severty=Critical" },
    });
    const { warnings } = json as unknown as TopicCheck;
    assert.deepEqual(
      warnings.map(({ code, filter, suggestions }) => ({ code, filter, first: suggestions[0] })),
      [
        {
          code: "UNKNOWN_PATH",
          filter: "contentQuery",
          first: { filter: "contentQuery", text: "troubleTicket.severity" },
        },
      ],
    );
    assert.match(
      warnings[0]?.message ?? "",
      /^`troubleTicket\.severty` did not occur in 40 events since \d+ \w+ \d+; did you mean `troubleTicket\.severity` \(100 %\)\?$/,
    );
  });

  it("stores no values, and forwards events although nothing can be stored", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await scene.db.collection<{ _id: string }>("topicsync_event_types").insertOne({ _id: "Broken" });
    await scene.send(defineTopic("all", ""));
    await scene.stored(1);
    const mails = Array.from({ length: 50 }, (_, n) => `unique-${n}@example.org`);
    await scene.produce(...mails.map((mail) => createTicket("Minor", { mail, byMail: { [mail]: 1 } })), {
      value: createEvent("Broken"),
    });
    await scene.routed();
    assert.equal(await scene.countCopies(), 51);
    assert.equal(await service.stop(), 0);
    const dumps = (await scene.db.collections()).map(async (one) =>
      JSON.stringify(await one.find().toArray()),
    );
    const dump = (await Promise.all(dumps)).join();
    assert.match(dump, /"byMail","\*"/);
    assert.doesNotMatch(dump, /unique-|Minor/);
  });

  it("can be told not to", async () => {
    const scene = routerScene({ EVENT_LEARNING: "off" });
    await scene.createTopics();
    const service = await scene.start();
    await scene.send(defineTopic("all", ""));
    await scene.stored(1);
    await scene.produce(createTicket("Minor"));
    await scene.routed();
    await service.stop();
    assert.equal(await scene.db.collection("topicsync_event_types").countDocuments(), 0);
  });
});
