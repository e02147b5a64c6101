import fc from "fast-check";

/** One for each member, so that the compiler asks for that of a new one. */
type Members<T> = { readonly [K in keyof T]-?: fc.Arbitrary<T[K]> };

/** Turns the arbitrary of an optional member into that of the member. */
export type Maybe = <T, N = undefined>(of: fc.Arbitrary<T>, none?: N) => fc.Arbitrary<T | N>;

/** Every optional member, none, or any. */
export const presences: Readonly<Record<"all" | "none" | "any", Maybe>> = {
  all: (of) => of,
  none: <N>(_: unknown, none?: N) => fc.constant(none as N),
  any: <T, N>(of: fc.Arbitrary<T>, none?: N) => fc.option(of, { nil: none as N, freq: 2 }),
};

/** Generates an object. Members that are undefined are absent. */
export const object = <T extends object>(members: Members<T>): fc.Arbitrary<T> =>
  fc
    .record(members as Members<Record<string, unknown>>)
    .map((made) => Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined)) as T);

/** Not empty, since "" often says that there is nothing. */
export const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 5 });
export const date = fc.date({ min: new Date(0), max: new Date("9999-01-01"), noInvalidDate: true });
export const count = fc.nat();
export const positive = fc.integer({ min: 1, max: 2 ** 40 });
export const list = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(of, { minLength: 1, maxLength: 3 });
