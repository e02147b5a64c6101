import { LongNumber } from "../filter/numbers.ts";
import type { Place } from "../filter/path-tree.ts";
import { getContent } from "./places.ts";
import type { EventRecord } from "../filter/record.ts";
import type { SampleValue } from "./value-set.ts";

/** An event and its record. */
export interface Witness {
  readonly event: Readonly<Record<string, unknown>>;
  readonly record: EventRecord;
}

/** What a place of a witness has. */
interface Node {
  readonly values: unknown[];
  readonly members: Map<string, Node>;
  /** What is there if nothing else is. */
  readonly anything: string | object;
}

/** Builds an event that has chosen values at some places. A list holds values and an object side by side. */
export class WitnessBuilder {
  readonly #event: Node = createNode({});
  readonly #record: Node = createNode({});

  add(place: Place, { text, isNumber }: SampleValue): void {
    this.#getNode(place).values.push(isNumber ? toNumber(text) : text);
  }

  /** Adds something that no condition but "exists" applies to, if there is such a thing. */
  addAnything(place: Place): void {
    this.#getNode(place);
  }

  /** Builds the event; with each member of those of which every event has one, if it has none yet. */
  *build(): Generator<Witness> {
    const [event, record] = [toObject(this.#event), toObject(this.#record)];
    if (Object.keys(required).some((name) => Object.hasOwn(event, name))) yield { event, record };
    else
      for (const [name, value] of Object.entries(required))
        yield { event: { ...event, [name]: value }, record };
  }

  #getNode(place: Place): Node {
    const { path, ofRecord } = place;
    const content = getContent(place);
    const anything = content === "text" || content === "texts" ? "" : {};
    let node = ofRecord ? this.#record : this.#event;
    for (const name of path) {
      let member = node.members.get(name);
      if (member === undefined) node.members.set(name, (member = createNode(anything)));
      node = member;
    }
    return node;
  }
}

/** The members that make an object an event (`checkEvent`). */
const required: Readonly<Record<string, unknown>> = { eventType: "", "@type": "", event: {} };

const createNode = (anything: Node["anything"]): Node => ({ values: [], members: new Map(), anything });

/** A name such as `__proto__` becomes a member like any other. */
const toObject = ({ members }: Node): Record<string, unknown> =>
  Object.fromEntries([...members].map(([name, node]) => [name, toValue(node)]));

function toValue(node: Node): unknown {
  const values = node.members.size === 0 ? node.values : [...node.values, toObject(node)];
  return values.length > 1 ? values : (values[0] ?? node.anything);
}

const toNumber = (text: string): number | LongNumber =>
  String(Number(text)) === text ? Number(text) : new LongNumber(text);
