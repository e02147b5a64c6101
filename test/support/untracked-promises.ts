/**
 * `node:test` asks which test is running when a hook is added or an error is not caught. It follows each
 * promise with an async hook for that, an eighth of the computing of the tests and half of the simulation's.
 * Here the running test is kept in an AsyncLocalStorage, which costs little. Loaded with `--import`, before
 * `node:test`.
 */
import asyncHooks, { AsyncLocalStorage, AsyncResource } from "node:async_hooks";

/** The argument with which Node loads this module into a test file. */
export const importUntrackedPromises = `--import=${import.meta.url}`;

const { createHook, executionAsyncId } = asyncHooks;
const running = new AsyncLocalStorage<number>();
/** `node:test`'s classes of what runs; each is an AsyncResource. */
const kinds = new Set(["Test", "Suite", "TestHook"]);

asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
asyncHooks.executionAsyncId = () => running.getStore() ?? executionAsyncId();

const runInAsyncScope = Reflect.get(AsyncResource.prototype, "runInAsyncScope");
AsyncResource.prototype.runInAsyncScope = function <This, Result>(
  this: AsyncResource,
  work: (this: This, ...args: unknown[]) => Result,
  thisArg?: This,
  ...args: unknown[]
): Result {
  const enter = (): Result => Reflect.apply(work, thisArg, args) as Result;
  const isTest = kinds.has(this.constructor.name);
  return runInAsyncScope.call(this, isTest ? () => running.run(this.asyncId(), enter) : enter) as Result;
};
