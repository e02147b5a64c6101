import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { installEventRuler, type Rule } from "../../../../bench/picker/event-ruler.ts";
import { createPicker, type FilterTexts } from "../../picker/index.ts";
import { chooseSeed, createRandom, type Random } from "../../../../test/support/random.ts";
import { toolsFolder } from "../../../../test/support/local.ts";

const { seed, hint } = chooseSeed("PICKER_SEED");
const topicCount = 1_000;
const eventCount = 20_000;

// The differences, and how they are bridged:
// - A filter's value matches a string with the same text, and the number or boolean that it stands for; a
//   rule's string matches strings only. So a value that is also a number or boolean becomes two alternatives:
//   1.0 is "1.0" or 1, but 01 is only "01".
// - Event Ruler compares numbers up to 5e9 with six decimals; the vocabulary stays within that.
// - A rule has each member once and is not empty: no topic here has one path in both filters, a path through
//   the end of another, or no condition.
// - Event Ruler requires all conditions to hold in one element of an array of objects, topicsync does not.
//   Arrays here contain scalars only.
describe("the picker compared with Event Ruler", () => {
  it("picks the topics whose rules match", async (t) => {
    t.diagnostic(hint);
    const random = createRandom(seed);
    const topics = Array.from({ length: topicCount }, (_, number) => createTopic(random, `t${number}`));
    const events = Array.from({ length: eventCount }, () => JSON.stringify(createEvent(random)));

    const picker = createPicker();
    // Replaced and removed topics must leave no trace.
    for (const { id } of topics) if (random.chance(0.3)) picker.set(id, createTopic(random, id).filters);
    for (let number = 0; number < 200; number += 1)
      picker.set(`gone${number}`, createTopic(random, "").filters);
    for (const { id, filters } of topics) picker.set(id, filters);
    for (let number = 0; number < 200; number += 1) picker.delete(`gone${number}`);

    const ruler = await installEventRuler({ toolsFolder, report: () => undefined });
    const output = await ruler.run(["match"], { rules: topics, ruleCount: topicCount, events });
    const answers = output.split("\n");
    assert.equal(answers.pop(), "", "the last line has no end");
    assert.equal(answers.length, eventCount);

    const differences: unknown[] = [];
    let matches = 0;
    for (const [at, event] of events.entries()) {
      const picked = picker.pick(JSON.parse(event)).sort();
      matches += picked.length;
      if (picked.join(" ") !== answers[at] && differences.length < 5)
        differences.push(
          describeDifference(event, { picked, matched: (answers[at] ?? "").split(" "), topics }),
        );
    }
    assert.deepEqual(differences, [], hint);
    t.diagnostic(`${matches} matches`);
    assert.ok(matches > eventCount, `only ${matches} matches (${hint})`);
  });
});

interface Topic extends Rule {
  readonly filters: FilterTexts;
}

/** Describes, for one event, the topics that only one of the two found. */
function describeDifference(
  event: string,
  {
    picked,
    matched,
    topics,
  }: { picked: readonly string[]; matched: readonly string[]; topics: readonly Topic[] },
): unknown {
  const subtract = (some: readonly string[], others: readonly string[]) =>
    topics.filter(({ id }) => some.includes(id) && !others.includes(id));
  return { event, onlyPicked: subtract(picked, matched), onlyMatched: subtract(matched, picked) };
}

/** The ends of all paths, and their names in filters. */
const members = [
  { path: ["eventType"], header: "eventType" },
  { path: ["@type"], header: "@type" },
  { path: ["source", "region", "name"], header: "source.region.name" },
  { path: ["event", "severity"], content: "severity" },
  { path: ["event", "ticket", "type"], content: "event.ticket.type" },
  { path: ["event", "ticket", "tags"], content: "ticket.tags" },
  { path: ["event", "ticket", "owner", "team"], content: "ticket.owner.team" },
  { path: ["event", "customer", "id"], content: "customer.id" },
] as const;

const values = [
  "a",
  "b",
  "red",
  "two words",
  "x,y",
  "p&q=r",
  "100%",
  "größer",
  '"quoted"',
  "01",
  "1.0",
  "1",
  "2",
  "-3",
  "0.5",
  "true",
  "false",
] as const;

function createTopic(random: Random, id: string): Topic {
  const chosen = random.shuffle(members).slice(0, random.between(1, 4));
  const header: string[] = [];
  const content: string[] = [];
  const rule = {};
  for (const member of chosen) {
    const alternatives = random.shuffle(values).slice(0, random.between(1, 3));
    const list = alternatives.map((value) => encodeURIComponent(value)).join();
    if ("header" in member) header.push(`${member.header}=${list}`);
    else content.push(`${member.content}=${list}`);
    put(rule, member.path, alternatives.flatMap(toAlternatives));
  }
  const filters = { headerQuery: header.join("&"), contentQuery: content.join("&") };
  return { id, filters, rule: JSON.stringify(rule) };
}

/** The alternatives of a rule for a value. */
const toAlternatives = (value: string): unknown[] => [value, ...toScalars(value)];

/** The number or boolean that the text stands for. */
function toScalars(text: string): unknown[] {
  if (text === "true" || text === "false") return [text === "true"];
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) ? [Number(text)] : [];
}

function createEvent(random: Random): Readonly<Record<string, unknown>> {
  const event = {};
  for (const { path } of members) {
    // Sometimes a path ends early in a scalar or nothing, or has an object instead of a scalar.
    if (random.chance(0.03)) put(event, path.slice(0, -1), createScalar(random));
    else if (random.chance(0.75)) put(event, path, createValue(random));
  }
  return event;
}

const createValue = (random: Random): unknown =>
  random.pickWeighted<() => unknown>([
    [70, () => createScalar(random)],
    [25, () => Array.from({ length: random.between(0, 4) }, () => createScalar(random))],
    [5, () => ({ name: createScalar(random) })],
  ])();

function createScalar(random: Random): unknown {
  if (random.chance(0.1)) return random.pick([null, 7, "other", ""]);
  const value = random.pick(values);
  const [scalar] = toScalars(value);
  return scalar !== undefined && random.chance(0.5) ? scalar : value;
}

/** Puts a value at a path, unless a scalar blocks it. */
function put(object: object, path: readonly string[], value: unknown): void {
  const [name, ...rest] = path;
  if (name === undefined) return;
  const record = object as Record<string, unknown>;
  if (rest.length === 0) {
    record[name] = value;
    return;
  }
  const child = (record[name] ??= {});
  if (typeof child === "object" && !Array.isArray(child)) put(child, rest, value);
}
