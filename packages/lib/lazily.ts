/**
 * Creates an object whose members are each created when they are first read. Those of `base` are its own as
 * well.
 */
export function lazily<T extends object, Base extends object = object>(
  create: { readonly [K in keyof Omit<T, keyof Base>]: (all: T) => Omit<T, keyof Base>[K] },
  base?: Base,
): T {
  const all = Object.create(base ?? Object.prototype) as T;
  for (const [name, make] of Object.entries<(all: T) => unknown>(create)) {
    const get = (): unknown => {
      const value = make(all);
      Object.defineProperty(all, name, { value });
      return value;
    };
    Object.defineProperty(all, name, { configurable: true, get });
  }
  return all;
}
