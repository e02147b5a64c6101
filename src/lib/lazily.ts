/** Creates an object whose members are each created when they are first read. */
export function lazily<T extends object>(create: { readonly [K in keyof T]: (all: T) => T[K] }): T {
  const all = {} as T;
  for (const name in create) {
    const get = (): unknown => {
      const value = create[name](all);
      Object.defineProperty(all, name, { value });
      return value;
    };
    Object.defineProperty(all, name, { configurable: true, get });
  }
  return all;
}
