/** Access to private modules and classes of kafkajs. Other workarounds use it. */

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const patched = new Set<string>();

/** Loads a private module of kafkajs, by its path in the package. Throws if this kafkajs has none. */
export const loadPrivate = (path: string): unknown => require(`kafkajs/src/${path}`);

type Method<T> = (this: T, ...args: never[]) => unknown;

/**
 * Replaces a method of a private class of kafkajs, once per process. Throws if the class has no such method,
 * because this kafkajs then differs from the one that the workaround was written for.
 */
export function patchMethod<Name extends string, T extends Record<Name, Method<T>>>(
  path: string,
  name: Name,
  wrap: (original: T[Name]) => T[Name],
): void {
  if (patched.has(path + name)) return;
  const { prototype } = loadPrivate(path) as { readonly prototype: T };
  const original: unknown = prototype[name];
  if (typeof original !== "function") throw new Error(`this kafkajs has no ${path}: ${name}()`);
  prototype[name] = wrap(original as T[Name]);
  patched.add(path + name);
}

/**
 * Replaces a function that a private module of kafkajs exports by name, once per process, also for those that
 * have loaded the module. Throws if the module exports no such function.
 */
export function patchFunction<Name extends string, T extends Record<Name, (...args: never[]) => unknown>>(
  path: string,
  name: Name,
  wrap: (original: T[Name]) => T[Name],
): void {
  if (patched.has(path + name)) return;
  const exported = loadPrivate(path) as T;
  if (typeof exported[name] !== "function") throw new Error(`this kafkajs has no ${path}: ${name}()`);
  exported[name] = wrap(exported[name]);
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
