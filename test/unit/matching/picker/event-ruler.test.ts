import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { installEventRuler, type Rule } from "../../../../bench/picker/event-ruler.ts";
import { createPicker, type FilterTexts } from "../../../../src/matching/picker/index.ts";
import { randomSeed, createRandom, type Random } from "../../../support/random.ts";
import { toolsFolder } from "../../embedded/local.ts";

/** Another one each time; `PICKER_SEED` makes the same topics and events again. */
const seed = Number(process.env["PICKER_SEED"] ?? randomSeed());
const topicCount = 1_000;
const eventCount = 100_000;

// Where the two differ, and what bridges it:
// - A value of ours matches a string, a number or a boolean that prints the same; a rule's string matches strings only, and
//   so on. So a value that a number or a boolean prints as becomes two alternatives: 1 is "1" or 1, 01 is "01" alone.
// - Event Ruler compares numbers up to 5e9 with six digits after the point; the vocabulary has none beyond.
// - A rule has each member once, and no rule is empty: no topic here names one path in both filters, names a path that leads
//   through another's end, or is empty.
// - In arrays of objects Event Ruler wants all conditions to hold in one element; ours do not. Only scalars lie in arrays here.
describe("the picker beside Event Ruler", () => {
  it("picks the topics whose rules match", async (t) => {
    const told = `PICKER_SEED=${seed}`;
    t.diagnostic(told);
    const random = createRandom(seed);
    const topics = Array.from({ length: topicCount }, (_, number) => anyTopic(random, `t${number}`));
    const events = Array.from({ length: eventCount }, () => JSON.stringify(anyEvent(random)));

    const picker = createPicker();
    // What was there before must leave no trace: many topics replace others, and some are removed.
    for (const { id } of topics) if (random.chance(0.3)) picker.set(id, anyTopic(random, id).filters);
    for (let number = 0; number < 200; number += 1) picker.set(`gone${number}`, anyTopic(random, "").filters);
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
        differences.push(difference(event, { picked, matched: (answers[at] ?? "").split(" "), topics }));
    }
    assert.deepEqual(differences, [], told);
    t.diagnostic(`${matches} matches`);
    assert.ok(matches > eventCount, `only ${matches} matches (${told})`);
  });
});

interface Topic extends Rule {
  readonly filters: FilterTexts;
}

/** Says, for one event, which topics only one of the two has found. */
function difference(
  event: string,
  {
    picked,
    matched,
    topics,
  }: { picked: readonly string[]; matched: readonly string[]; topics: readonly Topic[] },
): unknown {
  const only = (some: readonly string[], others: readonly string[]) =>
    topics.filter(({ id }) => some.includes(id) && !others.includes(id));
  return { event, onlyPicked: only(picked, matched), onlyMatched: only(matched, picked) };
}

/** The ends of all paths, and how the filters say them. */
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
  ...["a", "b", "red", "two words", "x,y", "p&q=r", "100%", "größer", '"quoted"', "null", "01", "1.0"],
  ...["1", "2", "-3", "0.5", "true", "false"],
] as const;

function anyTopic(random: Random, id: string): Topic {
  const chosen = random.shuffle(members).slice(0, random.between(1, 4));
  const header: string[] = [];
  const content: string[] = [];
  const rule = {};
  for (const member of chosen) {
    const alternatives = random.shuffle(values).slice(0, random.between(1, 3));
    const list = alternatives.map((value) => encodeURIComponent(value)).join();
    if ("header" in member) header.push(`${member.header}=${list}`);
    else content.push(`${member.content}=${list}`);
    put(rule, member.path, alternatives.flatMap(alternativesOf));
  }
  const filters = { headerQuery: header.join("&"), contentQuery: content.join("&") };
  return { id, filters, rule: JSON.stringify(rule) };
}

/** What a rule has for a value. */
const alternativesOf = (value: string): unknown[] => [value, ...scalarsOf(value)];

/** The number or the boolean that prints as this text. */
function scalarsOf(text: string): unknown[] {
  if (text === "true" || text === "false") return [text === "true"];
  return String(Number(text)) === text ? [Number(text)] : [];
}

function anyEvent(random: Random): Readonly<Record<string, unknown>> {
  const event = {};
  for (const { path } of members) {
    // Now and then something else stands in the way: a scalar, nothing, or an object where a scalar is asked for.
    if (random.chance(0.03)) put(event, path.slice(0, -1), anyScalar(random));
    else if (random.chance(0.75)) put(event, path, anyValue(random));
  }
  return event;
}

const anyValue = (random: Random): unknown =>
  random.pickWeighted<() => unknown>([
    [70, () => anyScalar(random)],
    [25, () => Array.from({ length: random.between(0, 4) }, () => anyScalar(random))],
    [5, () => ({ name: anyScalar(random) })],
  ])();

function anyScalar(random: Random): unknown {
  if (random.chance(0.1)) return random.pick([null, 7, "other", ""]);
  const value = random.pick(values);
  const [scalar] = scalarsOf(value);
  return scalar !== undefined && random.chance(0.5) ? scalar : value;
}

/** Puts a value at a path, unless a value stands in its way. */
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
