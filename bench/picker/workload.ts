import type { FilterTexts } from "@topicsync/filters/picker";
import { createRandom, type Random } from "../../test/support/random.ts";
import { createLotWorkload } from "./lot-workload.ts";
import { createPatternWorkload } from "./pattern-workload.ts";

/**
 * "all" has equalities, ranges, negations and empty filters; "equalities" omits those that Event Ruler cannot
 * express; in "unique" every topic also has its own customer, so that the number of matches does not depend
 * on the number of topics; "patterns" and "lots" have topics without an equality (pattern-workload.ts,
 * lot-workload.ts).
 */
export const workloads = ["all", "equalities", "unique", "patterns", "lots"] as const;
export type WorkloadName = (typeof workloads)[number];

/** A topic's conditions, before they are formatted as filters or as a rule. */
interface Draft {
  readonly id: string;
  /** Undefined for the empty filter. */
  readonly wanted?: {
    readonly eventTypes: readonly [string, string];
    readonly severity: string;
    readonly type: string;
    readonly customer: string | undefined;
  };
  /** One more condition that is not an equality, or "". */
  readonly extra: string;
}

export interface BenchTopic {
  readonly id: string;
  readonly filters: FilterTexts;
}

/** Reproducible: every process gets the same topics and events. */
export interface Workload {
  /** The topics numbered from `from` to `to`, exclusive. */
  topics(from: number, to: number): Generator<BenchTopic>;
  /** The same topics as rules of Event Ruler. Throws for a topic that it cannot express. */
  rules(from: number, to: number): Generator<{ id: string; rule: string }>;
  /**
   * Events as JSON. Half of them match one of the first `topics` topics. A smaller `count` returns a prefix
   * of the same events.
   */
  events(count: number, topics: number): string[];
}

/** A workload with events for a certain topic. */
export interface EqualityWorkload extends Workload {
  /** An event for one topic, which matches no other one in "unique". A `description` makes it larger. */
  matchingEvent(number: number, topic: number, description: string): string;
}

const eventTypes = 50;
const severities = ["critical", "major", "minor", "warning", "indeterminate"] as const;
const ticketTypes = 1_000;
const sharedCustomers = 1_000;
const eventSeed = 20_000;

export function createWorkload(name: WorkloadName): Workload {
  if (name === "patterns") return createPatternWorkload();
  return name === "lots" ? createLotWorkload() : createEqualityWorkload(name);
}

/** Whether its topics are found by patterns, and not by equalities. */
export const hasPatterns = (name: WorkloadName): boolean => name === "patterns" || name === "lots";

/** A topic depends only on its number. */
export function createEqualityWorkload(name: "all" | "equalities" | "unique"): EqualityWorkload {
  return {
    *topics(from, to) {
      for (let number = from; number < to; number += 1) yield toTopic(createDraft(name, number));
    },
    *rules(from, to) {
      for (let number = from; number < to; number += 1) yield toRule(createDraft(name, number));
    },
    events(count, topics) {
      const random = createRandom(eventSeed);
      return Array.from({ length: count }, (_, number) => {
        const { wanted } = createDraft(name, random.between(0, topics - 1));
        return createEvent(number, number % 2 === 0 ? wanted : undefined, random);
      });
    },
    matchingEvent: (number, topic, description) =>
      createEvent(number, createDraft(name, topic).wanted, createRandom(number), description),
  };
}

function createDraft(name: WorkloadName, number: number): Draft {
  // Spreads consecutive numbers, so that their seeds differ widely.
  const random = createRandom(Math.imul(number, 0x9e3779b1));
  const id = `topic${number}`;
  const share = name === "all" ? random.between(0, 99) : 99;
  if (share === 0) return { id, extra: "" };
  const first = random.between(0, eventTypes - 1);
  const second = (first + random.between(1, eventTypes - 1)) % eventTypes;
  return {
    id,
    wanted: {
      eventTypes: [formatEventType(first), formatEventType(second)],
      severity: random.pick(severities),
      type: pickTicketType(random),
      customer: pickCustomer(name === "unique" ? 0 : random.between(0, 2), number, random),
    },
    extra: share <= 5 ? "&ticket.priority>=3" : share <= 10 ? "&ticket.channel!=web" : "",
  };
}

const formatEventType = (number: number): string => `TroubleTicket${number}Event`;
const pickTicketType = (random: Random): string => `type${random.between(0, ticketTypes - 1)}`;

function pickCustomer(kind: number, number: number, random: Random): string | undefined {
  if (kind === 0) return `customer${number}`;
  return kind === 1 ? `group${random.between(0, sharedCustomers - 1)}` : undefined;
}

function toTopic({ id, wanted, extra }: Draft): BenchTopic {
  if (wanted === undefined) return { id, filters: {} };
  const { severity, type, customer } = wanted;
  const owner = customer === undefined ? "" : `&ticket.customer.id=${customer}`;
  return {
    id,
    filters: {
      headerQuery: `eventType=${wanted.eventTypes.join()}`,
      contentQuery: `ticket.severity=${severity}&ticket.type=${type}${owner}${extra}`,
    },
  };
}

function toRule({ id, wanted, extra }: Draft): { id: string; rule: string } {
  if (wanted === undefined || extra !== "") throw new Error(`${id} cannot be a rule of Event Ruler`);
  const { severity, type, customer } = wanted;
  const owner = customer === undefined ? {} : { customer: { id: [customer] } };
  const ticket = { severity: [severity], type: [type], ...owner };
  return { id, rule: JSON.stringify({ eventType: wanted.eventTypes, event: { ticket } }) };
}

/** Random where `wanted` sets nothing. */
function createEvent(number: number, wanted: Draft["wanted"], random: Random, description?: string): string {
  return JSON.stringify({
    eventId: `event${number}`,
    eventType:
      wanted === undefined
        ? formatEventType(random.between(0, eventTypes - 1))
        : random.pick(wanted.eventTypes),
    event: {
      ticket: {
        id: `ticket${number}`,
        severity: wanted?.severity ?? random.pick(severities),
        type: wanted?.type ?? pickTicketType(random),
        priority: random.between(1, 5),
        channel: random.pick(["web", "phone", "mail"]),
        customer: { id: wanted?.customer ?? `group${random.between(0, sharedCustomers - 1)}` },
        description,
      },
    },
  });
}
