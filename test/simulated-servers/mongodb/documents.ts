import { Binary } from "mongodb";

/** Records are never changed in place: an update creates another one. */
export type Document = Readonly<Record<string, unknown>>;
export type Filter = Document;

const isPlain = (value: unknown): value is Document =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Date) &&
  !(value instanceof Binary);

/** As for MongoDB, an absent value equals null, and values of different types are never equal. */
export const isEqual = (a: unknown, b: unknown): boolean =>
  a === b ||
  (typeof a === typeof b && typeof a !== "string" && formatValue(a) === formatValue(b)) ||
  ((a ?? null) === null && (b ?? null) === null);

/** A text that equal values share, and values of different types do not. */
export const formatValue = (value: unknown): string => {
  if (typeof value === "string") return `"${value}`;
  if (value instanceof Binary) return value.toString("hex");
  if (value instanceof Date) return `on ${value.getTime()}`;
  return JSON.stringify(value ?? null);
};

/** What the driver sends of a value, and what it makes of a response: a copy without what is undefined. */
export function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map((one: unknown) => copy(one)) as T;
  if (!isPlain(value)) return value;
  const copied: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) if (member !== undefined) copied[name] = copy(member);
  return copied as T;
}

/** The value at a path such as `source.kind`. */
export function getValue(document: Document, path: string): unknown {
  if (!path.includes(".")) return document[path];
  let value: unknown = document;
  for (const name of path.split(".")) value = isPlain(value) ? value[name] : undefined;
  return value;
}

const getType = (value: unknown): string => (value instanceof Date ? "date" : typeof value);

/** Values of different types do not compare. */
const isAfter = (a: unknown, b: unknown): boolean =>
  getType(a) === getType(b) && (a as number) > (b as number);

const typesInOrder = ["undefined", "number", "string", "object", "boolean", "date"];

/** In MongoDB's order, in which every value of a type comes before those of the next type. */
function comesBefore(a: unknown, b: unknown): boolean {
  const [rankA, rankB] = [a ?? undefined, b ?? undefined].map((value) =>
    typesInOrder.indexOf(getType(value)),
  );
  return rankA === rankB ? isAfter(b, a) : (rankA ?? 0) < (rankB ?? 0);
}

const operators: Readonly<Record<string, (value: unknown, operand: unknown) => boolean>> = {
  $in: (value, operand) => (operand as unknown[]).some((one) => isEqual(value, one)),
  $gt: (value, operand) => isAfter(value, operand),
  $gte: (value, operand) => isAfter(value, operand) || isEqual(value, operand),
  $lt: (value, operand) => isAfter(operand, value),
  $not: (value, operand) => !matchesCondition(value, operand),
};

function matchesCondition(value: unknown, condition: unknown): boolean {
  if (!isPlain(condition) || !Object.keys(condition).some((name) => name.startsWith("$")))
    return isEqual(value, condition);
  return Object.entries(condition).every(([name, operand]) => {
    const operator = operators[name];
    if (operator === undefined) throw new Error(`the simulated store has no operator ${name}`);
    return operator(value, operand);
  });
}

export const matches = (document: Document, filter: Filter): boolean =>
  Object.entries(filter).every(([path, condition]) => matchesCondition(getValue(document, path), condition));

export interface Update {
  readonly $set?: Document;
  readonly $max?: Document;
  readonly $setOnInsert?: Document;
  readonly $unset?: Document;
  readonly $push?: Readonly<Record<string, { readonly $each: readonly unknown[]; readonly $slice: number }>>;
  readonly $addToSet?: Document;
  readonly $pullAll?: Readonly<Record<string, readonly unknown[]>>;
}

const knownOperators = new Set(["$set", "$max", "$setOnInsert", "$unset", "$push", "$addToSet", "$pullAll"]);

const asList = (value: unknown): readonly unknown[] => (value ?? []) as readonly unknown[];

export const isReplacement = (update: Document): boolean =>
  !Object.keys(update).some((name) => name.startsWith("$"));

/** The record after an update; one without operators replaces everything but the `_id`. */
export function applyUpdate(document: Document, update: Document, isInsert: boolean): Document {
  const names = Object.keys(update);
  if (isReplacement(update)) return { _id: document["_id"], ...update };
  for (const name of names)
    if (!knownOperators.has(name)) throw new Error(`the simulated store has no operator ${name}`);
  const { $set, $max, $setOnInsert, $unset, $push, $addToSet, $pullAll } = update as Update;
  const changed: Record<string, unknown> = { ...document, ...$set, ...(isInsert ? $setOnInsert : {}) };
  for (const [name, value] of Object.entries($max ?? {}))
    if (comesBefore(changed[name], value)) changed[name] = value;
  for (const [name, { $each, $slice }] of Object.entries($push ?? {}))
    changed[name] = [...asList(changed[name]), ...$each].slice($slice);
  for (const [name, value] of Object.entries($addToSet ?? {})) {
    const list = asList(changed[name]);
    changed[name] = list.some((one) => isEqual(one, value)) ? list : [...list, value];
  }
  for (const [name, values] of Object.entries($pullAll ?? {}))
    if (changed[name] !== undefined)
      changed[name] = asList(changed[name]).filter((one) => !values.some((value) => isEqual(one, value)));
  const removed = new Set(Object.keys($unset ?? {}));
  return Object.fromEntries(Object.entries(changed).filter(([name]) => !removed.has(name)));
}

/** The record that an upsert begins with: what its filter requires to be equal. */
export const toInserted = (filter: Filter): Document =>
  Object.fromEntries(
    Object.entries(filter).filter(
      ([, value]) => !isPlain(value) || !Object.keys(value).some((name) => name.startsWith("$")),
    ),
  );

/** The selected fields of a record. */
export function project(document: Document, projection: Document): Document {
  const paths = Object.keys(projection).filter((path) => projection[path] === 1);
  const names = projection["_id"] === 0 ? paths : ["_id", ...paths];
  return projectPaths(document, names);
}

function projectPaths(document: Document, paths: readonly string[]): Document {
  const projected: Record<string, unknown> = {};
  const byName = Map.groupBy(paths, (path) => path.split(".", 1)[0] ?? path);
  for (const [name, all] of byName) {
    const value = document[name];
    if (value === undefined) continue;
    const inner = all.map((path) => path.slice(name.length + 1));
    if (inner.includes("")) projected[name] = value;
    else if (isPlain(value)) projected[name] = projectPaths(value, inner);
  }
  return projected;
}
