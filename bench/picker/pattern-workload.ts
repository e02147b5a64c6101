import { createRandom, type Random } from "../../test/support/random.ts";

/** One condition in both languages. */
interface Pattern {
  readonly contentQuery: string;
  readonly member: string;
  readonly rule: unknown;
}

const letters = "abcdefghijklmnopqrstuvwxyz";
/** Between the bounds of two topics, so that as many match, however many topics there are. */
const amountPerTopic = 10;
export const createWord = (random: Random, length: number): string =>
  Array.from({ length }, () => letters[random.between(0, letters.length - 1)]).join("");

/**
 * One sixth of the topics each have a prefix, a suffix, a text in any case, a wildcard, `exists` and a range.
 */
export function createPatternWorkload() {
  return {
    *topics(from: number, to: number) {
      for (let number = from; number < to; number += 1)
        yield { id: `topic${number}`, filters: { contentQuery: createPattern(number).contentQuery } };
    },
    *rules(from: number, to: number) {
      for (let number = from; number < to; number += 1) {
        const { member, rule } = createPattern(number);
        yield { id: `topic${number}`, rule: JSON.stringify({ event: { ticket: { [member]: [rule] } } }) };
      }
    },
    events(count: number, topics: number) {
      const random = createRandom(1);
      return Array.from({ length: count }, (_, number) =>
        createEvent(number, random.between(0, topics - 1), topics, random),
      );
    },
  };
}

/** Shared by two topics. */
const toOption = (number: number): string => `option${Math.trunc(number / 12)}`;
const createTopicRandom = (number: number): Random => createRandom(Math.imul(number, 0x9e3779b1));

function createPattern(number: number): Pattern {
  const random = createTopicRandom(number);
  const word = createWord(random, 8);
  switch (number % 6) {
    case 0:
      return { contentQuery: `ticket.name.prefix=${word}`, member: "name", rule: { prefix: word } };
    case 1:
      return { contentQuery: `ticket.email.suffix=${word}`, member: "email", rule: { suffix: word } };
    case 2: {
      const rule = { "equals-ignore-case": word };
      return { contentQuery: `ticket.city.eqi=${word}`, member: "city", rule };
    }
    case 3: {
      const [first, last] = [word.slice(0, 4), word.slice(4)];
      const rule = { wildcard: `${first}*${last}*` };
      return { contentQuery: `ticket.summary.like=${first}*${last}*`, member: "summary", rule };
    }
    case 4: {
      const member = toOption(number);
      return { contentQuery: `ticket.${member}.exists=true`, member, rule: { exists: true } };
    }
    default: {
      const lower = number * amountPerTopic;
      const upper = lower + 12 * amountPerTopic;
      const rule = { numeric: [">=", lower, "<", upper] };
      return { contentQuery: `ticket.amount>=${lower}&ticket.amount<${upper}`, member: "amount", rule };
    }
  }
}

/** An event that one of the first `topics` topics matches, and few others. */
function createEvent(number: number, topic: number, topics: number, random: Random): string {
  const ofTopic = createTopicRandom(topic);
  const word = createWord(ofTopic, 8);
  const chooseWord = (kind: number): string => (topic % 6 === kind ? word : createWord(random, 8));
  const summary = chooseWord(3);
  const other = random.between(0, topics - 1);
  return JSON.stringify({
    eventId: `event${number}`,
    eventType: "TroubleTicketEvent",
    event: {
      ticket: {
        id: `ticket${number}`,
        name: `${chooseWord(0)} ${createWord(random, 6)}`,
        email: `${createWord(random, 6)}@${chooseWord(1)}`,
        city: chooseWord(2).toUpperCase(),
        summary: `${summary.slice(0, 4)} ${createWord(random, 20)} ${summary.slice(4)} ${createWord(random, 4)}`,
        amount: (topic % 6 === 5 ? topic : other) * amountPerTopic,
        [toOption(topic % 6 === 4 ? topic : other)]: "yes",
      },
    },
  });
}
