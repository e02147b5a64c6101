// Parts of JSON Schemas, with types from which `FromSchema` derives those of the messages.

type Members = Readonly<Record<string, object>>;

/** A name that ends with a question mark is that of a member which may be absent. */
type NameOf<K> = K extends `${infer Name}?` ? Name : K;
type RequiredName<K> = K extends `${string}?` ? never : K;

/** The schema of an object that has no other members. */
export interface ObjectSchema<M extends Members> {
  readonly type: "object";
  readonly additionalProperties: false;
  readonly required: readonly RequiredName<keyof M & string>[];
  readonly properties: { readonly [K in keyof M as NameOf<K>]: M[K] };
}

interface Described {
  readonly description: string;
}

interface Named {
  readonly $id: string;
}

/**
 * An object with these members and no others, after its description, if any. The name of a member that may be
 * absent ends with a question mark.
 */
export function object<const M extends Members>(members: M): ObjectSchema<M>;
export function object<const M extends Members>(description: string, members: M): ObjectSchema<M> & Described;
export function object(...args: [Members] | [string, Members]): object {
  const [description, members] = args.length === 1 ? [undefined, args[0]] : args;
  const names = Object.keys(members);
  return {
    type: "object",
    ...(description !== undefined && { description }),
    additionalProperties: false,
    required: names.filter((name) => !name.endsWith("?")),
    properties: Object.fromEntries(
      Object.entries(members).map(([name, member]) => [name.replace(/\?$/, ""), member]),
    ),
  };
}

/** An object that the OpenAPI document lists under a name of its own. */
export const named = <const M extends Members>($id: string, members: M): ObjectSchema<M> & Named => ({
  $id,
  ...object(members),
});

/** Makes all members optional. */
export const partial = <const M extends Members>(members: M) =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [`${name}?`, member])) as {
    readonly [K in keyof M & string as `${K}?`]: M[K];
  };

/** A list of objects with these members, after the description of the list, if any. */
export function objects<const M extends Members>(members: M): List<ObjectSchema<M>>;
export function objects<const M extends Members>(
  description: string,
  members: M,
): List<ObjectSchema<M>> & Described;
export function objects(...args: [Members] | [string, Members]): object {
  return args.length === 1
    ? list(object(args[0]))
    : { type: "array", description: args[0], items: object(args[1]) };
}

interface List<Item> {
  readonly type: "array";
  readonly items: Item;
}

/** A list. */
export function list<const Item extends object>(items: Item): List<Item>;
export function list<const Item extends object>(items: Item, description: string): List<Item> & Described;
export function list(items: object, description?: string): object {
  return { type: "array", items, ...(description !== undefined && { description }) };
}

interface Atom<Schema> {
  (): Schema;
  (description: string): Schema & Described;
}

/** A schema that may be described. */
export const atom = <const Schema extends object>(schema: Schema) =>
  ((description?: string) =>
    description === undefined ? schema : { ...schema, description }) as Atom<Schema>;

export const flag = atom({ type: "boolean" });
export const integer = atom({ type: "integer" });
export const count = atom({ type: "integer", minimum: 0 });
export const positive = atom({ type: "integer", minimum: 1 });
export const countsByCode = atom({ type: "object", additionalProperties: count() });
export const text = atom({ type: "string" });
export const time = atom({ type: "string", format: "date-time" });
/** Text from outside: well-formed Unicode without NUL. */
export const input = atom({ type: "string", format: "text" });
/** The same, and not empty. */
export const nonEmpty = atom({ type: "string", format: "text", minLength: 1 });
export const nullableText = atom({ type: ["string", "null"] });
export const nullableTime = atom({ type: ["string", "null"], format: "date-time" });
export const nullableInput = atom({ type: ["string", "null"], format: "text" });
export const nullableCount = atom({ type: ["integer", "null"], minimum: 0 });

/** Input of 1 to `maxLength` characters. */
export const limited = (maxLength: number, description: string) =>
  ({ type: "string", format: "text", minLength: 1, maxLength, description }) as const;

interface Typed {
  readonly type: string;
}

/** The same, or null. */
export const nullable = <const Schema extends Typed>(schema: Schema) =>
  ({ ...schema, type: [schema.type, "null"] }) as Omit<Schema, "type"> & {
    readonly type: readonly [Schema["type"], "null"];
  };

/** Null, or an object with these members. */
export const orNull = <const M extends Members>(
  members: M,
): readonly [{ readonly type: "null" }, ObjectSchema<M>] => [{ type: "null" }, object(members)];
