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
        createTicket(n % 2 === 0 ? "Critical" : "Minor", { priority: n }),
      ),
    );
    await scene.routed();
    await first.stop();

    const shown = await scene.cli("events", "show", "TroubleTicketCreateEvent", "--json");
    assert.equal(shown.code, 0, shown.errors);
    const type = JSON.parse(shown.output) as EventTypeView;
    const { sampled } = type;
    // On a busy machine, the limit on time keeps some from being looked into.
    assert.ok(sampled > 0 && sampled <= 40);
    assert.deepEqual([type.events, type.share, type.complete], [40, 1, true]);
    assert.deepEqual(
      type.paths.map(({ path, filter, name, events, kinds }) => [path, filter, name, events, kinds]),
      [
        ["eventId", "headerQuery", "eventId", sampled, { string: sampled }],
        ["@type", "headerQuery", "@type", sampled, { string: sampled }],
        ["eventType", "headerQuery", "eventType", sampled, { string: sampled }],
        ["event", "headerQuery", "event", sampled, { object: sampled }],
        ["event.troubleTicket", "contentQuery", "troubleTicket", sampled, { object: sampled }],
        [
          "event.troubleTicket.severity",
          "contentQuery",
          "troubleTicket.severity",
          sampled,
          { string: sampled },
        ],
        [
          "event.troubleTicket.priority",
          "contentQuery",
          "troubleTicket.priority",
          sampled,
          { number: sampled },
        ],
      ],
    );
    const listed = await scene.cli("events", "types");
    assert.match(listed.output, /^type .*\nTroubleTicketCreateEvent +40 +100 % +\d+ +7 /);

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
      /^`troubleTicket\.severty` did not occur in \d+ events? since \d+ \w+ \d+; did you mean `troubleTicket\.severity` \(100 %\)\?$/,
    );

    const misspelt = { ...defineTopic("misspelt", ""), contentQuery: "troubleTicket.severty=Critical" };
    const created = await call(`${second.url}/api/svc_api_notif_mgmt/topic`, { body: misspelt });
    assert.equal(created.status, 201);
    const said = created.headers.get("topicsync-warning") ?? "";
    assert.match(said, /^UNKNOWN_PATH contentQuery: `troubleTicket\.severty` did not occur/);
    const changed = await call(`${second.url}/api/topicsync/v1/topics/misspelt`, {
      ...{ method: "PUT", headers: { "If-Match": "*" } },
      body: { ...misspelt, name: "still misspelt" },
    });
    assert.equal(changed.headers.get("topicsync-warning"), said);
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
