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

export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === undefined || a === null) return b === undefined || b === null;
  if (a instanceof Date || b instanceof Date) return Number(a) === Number(b);
  if (a instanceof Binary || b instanceof Binary) return formatValue(a) === formatValue(b);
  return typeof a === "object" && typeof b === "object" && formatValue(a) === formatValue(b);
}

/** A text that equal values share. */
export const formatValue = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (value instanceof Binary) return value.toString("hex");
  return JSON.stringify(value ?? null);
};

/** The value at a path such as `source.kind`. */
export function getValue(document: Document, path: string): unknown {
  if (!path.includes(".")) return document[path];
  let value: unknown = document;
  for (const name of path.split(".")) value = isPlain(value) ? value[name] : undefined;
  return value;
}

const isAfter = (a: unknown, b: unknown): boolean =>
  a !== undefined && a !== null && (a as number) > (b as number);

const operators: Readonly<Record<string, (value: unknown, operand: unknown) => boolean>> = {
  $in: (value, operand) => (operand as unknown[]).some((one) => isEqual(value, one)),
  $gt: (value, operand) => isAfter(value, operand),
  $lt: (value, operand) => value !== undefined && value !== null && isAfter(operand, value),
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
  readonly $setOnInsert?: Document;
  readonly $unset?: Document;
  readonly $push?: Readonly<Record<string, { readonly $each: readonly unknown[]; readonly $slice: number }>>;
  readonly $addToSet?: Document;
  readonly $pullAll?: Readonly<Record<string, readonly unknown[]>>;
}

const knownOperators = new Set(["$set", "$setOnInsert", "$unset", "$push", "$addToSet", "$pullAll"]);

const asList = (value: unknown): readonly unknown[] => (value ?? []) as readonly unknown[];

/** The record after an update; one without operators replaces everything but the `_id`. */
export function applyUpdate(document: Document, update: Document, isInsert: boolean): Document {
  const names = Object.keys(update);
  if (!names.some((name) => name.startsWith("$"))) return omitUndefined({ _id: document["_id"], ...update });
  for (const name of names)
    if (!knownOperators.has(name)) throw new Error(`the simulated store has no operator ${name}`);
  const { $set, $setOnInsert, $unset, $push, $addToSet, $pullAll } = update as Update;
  const changed: Record<string, unknown> = { ...document, ...$set, ...(isInsert ? $setOnInsert : {}) };
  for (const [name, { $each, $slice }] of Object.entries($push ?? {}))
    changed[name] = [...asList(changed[name]), ...$each].slice($slice);
  for (const [name, value] of Object.entries($addToSet ?? {})) {
    const list = asList(changed[name]);
    changed[name] = list.some((one) => isEqual(one, value)) ? list : [...list, value];
  }
  for (const [name, values] of Object.entries($pullAll ?? {}))
    changed[name] = asList(changed[name]).filter((one) => !values.some((value) => isEqual(one, value)));
  const removed = new Set(Object.keys($unset ?? {}));
  return omitUndefined(Object.fromEntries(Object.entries(changed).filter(([name]) => !removed.has(name))));
}

/** The record that an upsert begins with: what its filter requires to be equal. */
export const toInserted = (filter: Filter): Document =>
  Object.fromEntries(
    Object.entries(filter).filter(
      ([, value]) => !isPlain(value) || !Object.keys(value).some((name) => name.startsWith("$")),
    ),
  );

/** As the driver's option `ignoreUndefined`. */
export const omitUndefined = (document: Document): Document =>
  Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined));
