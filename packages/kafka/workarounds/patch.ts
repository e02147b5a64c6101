/** Access to private modules and classes of kafkajs. The workarounds use it. */

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const patched = new Set<string>();

/** Loads a private module of kafkajs, by its path in the package. Throws if this kafkajs has none. */
export const loadPrivate = (path: string): unknown => require(`kafkajs/src/${path}`);

type AnyFunction = (...args: never[]) => unknown;

/**
 * Replaces a method of a private class of kafkajs, once per process. `replacement` is given the object, its
 * own method, and the arguments. Throws if the class has no such method, because this kafkajs then differs
 * from the one that the workaround was written for.
 */
export function patchMethod<T extends Record<Name, AnyFunction>, Name extends string>(
  path: string,
  name: Name,
  replacement: (self: T, original: T[Name], ...args: Parameters<T[Name]>) => ReturnType<T[Name]>,
): void {
  const { prototype } = loadPrivate(path) as { readonly prototype: T };
  replaceOnce(path, prototype, name, (original) => {
    const method = function (this: T, ...args: Parameters<T[Name]>) {
      return replacement(this, original.bind(this) as T[Name], ...args);
    };
    return method as AnyFunction as T[Name];
  });
}

/**
 * Replaces a function that a private module of kafkajs exports by name, once per process, also for those that
 * have loaded the module. Throws if the module exports no such function.
 */
export const patchFunction = <T extends Record<Name, AnyFunction>, Name extends string>(
  path: string,
  name: Name,
  wrap: (original: T[Name]) => T[Name],
): void => {
  replaceOnce(path, loadPrivate(path) as T, name, wrap);
};

function replaceOnce<T extends Record<Name, AnyFunction>, Name extends string>(
  path: string,
  holder: T,
  name: Name,
  wrap: (original: T[Name]) => T[Name],
): void {
  if (patched.has(path + name)) return;
  if (typeof holder[name] !== "function") throw new Error(`this kafkajs has no ${path}: ${name}()`);
  holder[name] = wrap(holder[name]);
  patched.add(path + name);
}

/**
 * Replaces what a private module of kafkajs exports, once per process. Only those that load the module
 * afterwards use the replacement. Throws if kafkajs has no such module.
 */
export function replaceModule<T>(path: string, wrap: (original: T) => T): void {
  if (patched.has(path)) return;
  const original = loadPrivate(path) as T;
  const module = require.cache[require.resolve(`kafkajs/src/${path}`)];
  if (module === undefined) throw new Error(`this kafkajs has no ${path}`);
  module.exports = wrap(original);
  patched.add(path);
}
