/**
 * Keeps `node:test` from following every promise, which takes an eighth of the computing of the tests, and
 * half of the simulation's. It follows them to tell which test a hook or an error belongs to; without it,
 * those in asynchronous code may belong to the whole file. Loaded with `--import`, before `node:test`.
 */
import asyncHooks from "node:async_hooks";

/** The argument with which Node loads this module into a test file. */
export const importUntrackedPromises = `--import=${import.meta.url}`;

const { createHook } = asyncHooks;

asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
