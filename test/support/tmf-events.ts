import type { Event } from "../../schemas/pick.ts";
import type { Random } from "./random.ts";

const text = (random: Random, ...choices: readonly string[]): string => random.pickOptional(choices) ?? "";

const time = (random: Random): string =>
  new Date(Date.UTC(2026, 9, 1) + random.between(0, 3_000_000) * 1_000).toISOString();

const reference = (random: Random, kind: string) => {
  const id = String(random.between(10_000, 99_999));
  return { id, href: `https://example.org/${kind}/${id}`, "@referredType": kind };
};

const createParties = (random: Random): object[] =>
  Array.from({ length: random.between(1, 3) }, () => ({
    ...reference(random, "Individual"),
    name: `Person ${random.between(1, 5_000)}`,
    role: text(random, "reporter", "assignee", "customer"),
    contactMedium: [{ mediumType: "email", emailAddress: `p${random.between(1, 9_999)}@example.org` }],
  }));

const createTicket = (random: Random): object => ({
  ...reference(random, "TroubleTicket"),
  name: `Ticket ${random.between(1, 9_999)}`,
  severity: text(random, "Critical", "Major", "Minor", "Warning"),
  ticketType: text(random, "incident", "complaint", "request"),
  status: text(random, "acknowledged", "inProgress", "pending", "resolved", "closed"),
  priority: text(random, "high", "medium", "low"),
  creationDate: time(random),
  channel: { id: String(random.between(1, 5)), name: text(random, "web", "phone", "mail") },
  relatedParty: createParties(random),
  note: [{ author: `Person ${random.between(1, 5_000)}`, date: time(random), text: "Called back." }],
  ...(random.chance(0.3) && { resolutionDate: time(random) }),
});

const createAlarm = (random: Random): object => ({
  ...reference(random, "Alarm"),
  perceivedSeverity: text(random, "CRITICAL", "MAJOR", "MINOR", "CLEARED"),
  probableCause: text(random, "linkFailure", "powerProblem", "temperatureUnacceptable"),
  alarmRaisedTime: time(random),
  isRootCause: random.chance(0.2),
  alarmedObject: reference(random, "Resource"),
  crossedThresholdInformation: {
    indicatorName: text(random, "cpu", "memory"),
    observedValue: random.between(50, 100),
  },
});

const createOrder = (random: Random): object => ({
  ...reference(random, "ProductOrder"),
  state: text(random, "acknowledged", "inProgress", "completed", "failed"),
  category: text(random, "B2B", "B2C"),
  priority: String(random.between(0, 4)),
  orderDate: time(random),
  relatedParty: createParties(random),
  productOrderItem: Array.from({ length: random.between(1, 3) }, (_, n) => ({
    id: String(n + 1),
    action: text(random, "add", "modify", "delete"),
    quantity: random.between(1, 20),
    itemPrice: [{ priceType: "recurring", price: { taxIncludedAmount: { unit: "EUR", value: 9.99 } } }],
    product: {
      productCharacteristic: [
        { name: text(random, "bandwidth", "color"), value: String(random.between(1, 9)) },
      ],
    },
  })),
});

const createBill = (random: Random): object => ({
  ...reference(random, "CustomerBill"),
  billNo: `B-${random.between(1, 999_999)}`,
  runType: text(random, "onCycle", "offCycle"),
  amountDue: { unit: text(random, "EUR", "USD"), value: random.between(1, 900) },
  billDate: time(random),
  financialAccount: { ...reference(random, "FinancialAccount"), accountBalance: random.between(-50, 50) },
});

/** Creators of the `event` objects by event type, with their shares. */
const types: readonly (readonly [weight: number, choice: readonly [string, (random: Random) => object]])[] = [
  [40, ["TroubleTicketCreateEvent", (random) => ({ troubleTicket: createTicket(random) })]],
  [20, ["TroubleTicketStatusChangeEvent", (random) => ({ troubleTicket: createTicket(random) })]],
  [20, ["AlarmCreateEvent", (random) => ({ alarm: createAlarm(random) })]],
  [15, ["ProductOrderStateChangeEvent", (random) => ({ productOrder: createOrder(random) })]],
  [5, ["CustomerBillCreateEvent", (random) => ({ customerBill: createBill(random) })]],
];

/** An event like those of the TM Forum's APIs for tickets, alarms, orders and bills. */
export function createTmfEvent(random: Random): Event & { readonly eventType: string } {
  const [eventType, create] = random.pickWeighted(types);
  return {
    eventId: String(random.between(1, 1_000_000_000)),
    eventTime: time(random),
    "@type": "Event",
    eventType,
    domain: text(random, "assurance", "fulfillment"),
    event: { ...create(random) },
  };
}
