import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { readValues, printCondition, matches, readFilters, type FilterTexts } from "@topicsync/filters";
import type { Event } from "../../../schemas/pick.ts";
import { structureLimits } from "../../../src/event-types/event-type.ts";
import { createEventTypeService } from "../../../src/event-types/service.ts";
import { findFilterWarnings } from "../../../src/event-types/warnings.ts";
import { sampleEvents } from "../../support/event-sample.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { createTmfEvent } from "../../support/tmf-events.ts";

const random = createRandom(7);
const events = Array.from({ length: 5_000 }, () => createTmfEvent(random));
const eventTypes = createEventTypeService(() => sampleEvents(events), await createLogger("silent"));
const sample = await sampleEvents(events);
const showsValues = true;

const ticket = "eventType=TroubleTicketCreateEvent";
const tickets = "eventType.prefix=TroubleTicket";
const order = "eventType=ProductOrderStateChangeEvent";

/** A filter with a mistake, the code of its warning, and the first suggestion. */
const mistakes: readonly (readonly [
  headerQuery: string,
  contentQuery: string,
  code: string,
  meant: string,
])[] = [
  ["eventType=TroubleTicketCreatedEvent", "", "UNKNOWN_EVENT_TYPE", "TroubleTicketCreateEvent"],
  ["eventType=troubleTicketStatusChangeEvent", "", "UNKNOWN_EVENT_TYPE", "TroubleTicketStatusChangeEvent"],
  ["eventType=AlarmCreateEvnet,CustomerBillCreateEvent", "", "UNKNOWN_EVENT_TYPE", "AlarmCreateEvent"],
  [ticket, "troubleTicket.severty=Critical", "UNKNOWN_PATH", "troubleTicket.severity"],
  [ticket, "troubleticket.severity=Critical", "UNKNOWN_PATH", "troubleTicket.severity"],
  [tickets, "troubleTicket.relatedparty.role=customer", "UNKNOWN_PATH", "troubleTicket.relatedParty.role"],
  [tickets, "severity=Critical", "UNKNOWN_PATH", "troubleTicket.severity"],
  [
    tickets,
    "troubleTicket.relatedParty.emailAddress.exists=true",
    "UNKNOWN_PATH",
    "troubleTicket.relatedParty.contactMedium.emailAddress",
  ],
  ["", "alarm.percievedSeverity=MAJOR", "UNKNOWN_PATH", "alarm.perceivedSeverity"],
  [order, "productOrder.item.action=add", "UNKNOWN_PATH", "productOrder.productOrderItem.action"],
  [order, "productOrder.stat=failed", "UNKNOWN_PATH", "productOrder.state"],
  ["@tpye=Event", "", "UNKNOWN_PATH", "@type"],
  ["", "eventType=AlarmCreateEvent", "WRONG_MEMBER", "eventType"],
  ["troubleTicket.priority=high", "", "WRONG_MEMBER", "troubleTicket.priority"],
  ["", "domian=assurance", "UNKNOWN_PATH", "domain"],
  [ticket, "troubleTicket.channel=web", "NOT_A_VALUE", "troubleTicket.channel.id"],
  [ticket, "troubleTicket.severity=critical", "UNKNOWN_VALUE", "Critical"],
  [tickets, "troubleTicket.status=in-progress,closed", "UNKNOWN_VALUE", "inProgress"],
  [order, "productOrder.category=B2b,B2C", "UNKNOWN_VALUE", "B2B"],
  ["domain=fulfilment", "", "UNKNOWN_VALUE", "fulfillment"],
];

describe("warnings about filters", () => {
  it("find planted mistakes, with the right suggestion first", async () => {
    const found = mistakes.map(async ([headerQuery, contentQuery]) => {
      const [first, ...others] = await eventTypes.findWarnings(
        { headerQuery, contentQuery },
        { showsValues },
      );
      return [headerQuery, contentQuery, first?.code, first?.suggestions[0]?.text, ...others];
    });
    assert.deepEqual(await Promise.all(found), mistakes);
  });

  it("are not given for filters that events meet", async () => {
    for (let n = 0; n < 1_000; n += 1) {
      const event = random.pickOptional(events);
      assert.ok(event !== undefined);
      const filters = createMetFilters(event);
      assert.ok(matches(readFilters(filters), event), JSON.stringify(filters));
      assert.deepEqual(await eventTypes.findWarnings(filters, { showsValues }), [], JSON.stringify(filters));
    }
  });

  it("say the number of events, since when, and the share", async () => {
    const messages = async (filters: FilterTexts, options = { showsValues }): Promise<string[]> =>
      (await findFilterWarnings(filters, sample, options)).map(({ message }) => message);
    const count = (eventType: string): number => events.filter((one) => one.eventType === eventType).length;
    const alarms = count("AlarmCreateEvent").toLocaleString("en-US");
    assert.deepEqual(await messages({ headerQuery: "eventType=AlarmCreatedEvent" }), [
      `No event of type \`AlarmCreatedEvent\` in 5,000 sampled events since 3 Nov 2026, 15:40 UTC; did you mean \`AlarmCreateEvent\` (21 %)?`,
    ]);
    assert.deepEqual(await messages({ headerQuery: "eventType.suffix=DeleteEvent", contentQuery: "x=1" }), [
      "No event of a type with `eventType.suffix=DeleteEvent` in 5,000 sampled events since 3 Nov 2026, 15:40 UTC.",
    ]);
    assert.deepEqual(
      await messages({ headerQuery: "eventType=AlarmCreateEvent", contentQuery: "nothing.like.it=1" }),
      [
        `\`nothing.like.it\` did not occur in ${alarms} sampled events of type AlarmCreateEvent since 3 Nov 2026, 15:40 UTC.`,
      ],
    );
    assert.deepEqual(await messages({ contentQuery: "eventType=A" }), [
      "`eventType` is a member of the event, not of its `event` object: use it in the headerQuery.",
    ]);
    assert.deepEqual(
      await messages({ headerQuery: "eventType=AlarmCreateEvent", contentQuery: "alarm.alarmedObject=x" }),
      [
        `\`alarm.alarmedObject\` is an object in all ${alarms} events that have it, not a value. Its members: \`id\`, \`href\`, \`@referredType\`.`,
      ],
    );
    assert.deepEqual(
      await messages(
        { contentQuery: "troubleTicket.priority>3&alarm.isRootCause=maybe" },
        { showsValues: false },
      ),
      [
        `\`troubleTicket.priority\` was a text in ${(count("TroubleTicketCreateEvent") + count("TroubleTicketStatusChangeEvent")).toLocaleString("en-US")} sampled events since 3 Nov 2026, 15:40 UTC, but never a number: \`troubleTicket.priority>3\` compares as strings.`,
        `\`alarm.isRootCause\` was a boolean in ${alarms} sampled events since 3 Nov 2026, 15:40 UTC; \`maybe\` is not.`,
      ],
    );
  });

  it("know which numbers and times compare as such", async () => {
    const code = async (contentQuery: string): Promise<string | undefined> =>
      (await findFilterWarnings({ contentQuery }, sample, { showsValues }))[0]?.code;
    assert.equal(await code("productOrder.priority>3"), undefined);
    assert.equal(await code("customerBill.amountDue.value>=100.50"), undefined);
    assert.equal(await code("troubleTicket.creationDate>2026-10-01"), undefined);
    assert.equal(await code("troubleTicket.status>2026-10-01"), "WRONG_KIND");
    assert.equal(await code("productOrder.productOrderItem.quantity>many"), "WRONG_KIND");
    assert.equal(await code("productOrder.productOrderItem.quantity=many"), "WRONG_KIND");
    assert.equal(await code("productOrder.productOrderItem.quantity=1e1"), undefined);
  });

  it("name what the values were: the kinds that texts have are not all texts", async () => {
    const values = { time: "2026-10-01T00:00:00Z", number: "7", text: "high", flag: true };
    const known = await sampleEvents(
      Array.from({ length: 20 }, (_, at) => ({
        eventType: "E",
        event: { ...values, mixed: at % 2 === 0 ? values.number : values.time, near: "2026-10-01 00:00" },
      })),
    );
    const say = async (contentQuery: string): Promise<string | undefined> =>
      /was (.*) in 20 sampled events.*(but never .*)\.$/
        .exec((await findFilterWarnings({ contentQuery }, known, { showsValues }))[0]?.message ?? "")
        ?.slice(1)
        .join(", ");
    assert.equal(await say("time>high"), "a time, but never another text: `time>high` compares as strings");
    assert.equal(
      await say("number<high"),
      "a number, but never another text: `number<high` compares as strings",
    );
    assert.equal(
      await say("mixed<high"),
      "a number or a time, but never another text: `mixed<high` compares as strings",
    );
    assert.equal(await say("text>5"), "a text, but never a number: `text>5` compares as strings");
    assert.equal(await say("flag>5"), "a boolean, but never a number: `flag>5` compares as strings");
    const time = "2026-01-01T00:00:00Z";
    for (const [name, kind] of [
      ["near", "a text"],
      ["number", "a number"],
    ] as const)
      assert.equal(
        await say(`${name}>${time}`),
        `${kind}, but never an RFC 3339 time: \`${name}>${time}\` matches times only`,
      );
  });

  it("are not given for what may occur unseen", async () => {
    const byId = Array.from({ length: 300 }, (_, n) => ({
      eventType: "E",
      event: { [`id-${n}`]: { state: "on" } },
    }));
    const known = await sampleEvents([...byId, { event: { other: 1 } }]);
    const find = (contentQuery: string, headerQuery = "eventType=E", given = known) =>
      findFilterWarnings({ headerQuery, contentQuery }, given, { showsValues });
    assert.deepEqual(await find("id-999.state=off"), []);
    assert.deepEqual(await find("%2A=1"), []);
    assert.deepEqual(await find("other.exists=false", ""), []);
    assert.deepEqual(await find("other=1", "eventType.exists=false"), []);
    assert.deepEqual(await find("=", "$header.x=1&eventType!=X"), []);
    assert.deepEqual(await find("x=1", "", await sampleEvents([])), []);
    assert.deepEqual(await find("x=1", "", await sampleEvents([{}])), []);
    const types = Array.from({ length: structureLimits.types + 1 }, (_, n) => ({ eventType: `type ${n}` }));
    assert.equal((await find("", "eventType=typ", await sampleEvents(types.slice(1)))).length, 1);
    assert.deepEqual(await find("", "eventType=typ", await sampleEvents(types)), []);
  });

  it("say nothing of values to those who may not see them", async () => {
    const ofValues = mistakes.filter(([, , code]) => code === "UNKNOWN_VALUE");
    for (const [headerQuery, contentQuery] of ofValues)
      assert.deepEqual(
        await eventTypes.findWarnings({ headerQuery, contentQuery }, { showsValues: false }),
        [],
      );
  });
});

/** One to three conditions that an event meets, at random paths. */
function createMetFilters(event: Event): FilterTexts {
  const paths = listPaths(event, []);
  const conditions = Array.from({ length: random.between(1, 3) }, () => createMet(event, paths));
  const isContent = (path: readonly string[]): boolean => path[0] === "event";
  const print = (wanted: boolean): string =>
    conditions
      .filter(({ path }) => isContent(path) === wanted)
      .map((one) => printCondition(wanted ? { ...one, path: one.path.slice(1) } : one))
      .join("&");
  const type = random.chance(0.7) ? `eventType=${event.eventType ?? ""}` : "";
  return {
    headerQuery: [type, print(false)].filter((part) => part !== "").join("&"),
    contentQuery: print(true),
  };
}

function createMet(event: Event, paths: readonly (readonly string[])[]) {
  const path = random.pickOptional(paths) ?? [];
  const value = readValues(event, path)[0];
  const text = String(value);
  const isNumber = typeof value === "number";
  return createOneOf(random, [
    { path, operator: "eq", values: [text] },
    { path, operator: "exists", values: ["true"] },
    { path, operator: "prefix", values: [text.slice(0, 3)] },
    { path, operator: "eqi", values: [text.toUpperCase()] },
    { path, operator: "ne", values: ["something else"] },
    { path, operator: isNumber ? "gte" : "eq", values: [text] },
  ] as const);
}

const createOneOf = <T>(from: Random, choices: readonly [T, ...T[]]): T => from.pick(choices);

/** The paths that lead to values. */
const listPaths = (value: unknown, path: readonly string[]): (readonly string[])[] =>
  Array.isArray(value)
    ? value.slice(0, 1).flatMap((element) => listPaths(element, path))
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, member]) => listPaths(member, [...path, name]))
      : [path];
