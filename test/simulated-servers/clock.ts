import type { Cancel } from "@topicsync/lib/platform";

/** A simulated machine. Its events happen one after another, and none happens once it is dead. */
export interface Host {
  readonly name: string;
  alive: boolean;
  /** Until then, nothing happens on it. */
  frozenUntil: number;
  /** How far its clock is ahead. */
  readonly skewMs: number;
}

export const createHost = (name: string, skewMs = 0): Host => ({ name, alive: true, frozenUntil: 0, skewMs });

interface Event {
  time: number;
  readonly order: number;
  readonly host: Host;
  readonly action: () => void;
  isCancelled: boolean;
}

/** The time of a simulated world, and everything that is going to happen in it. */
export interface Clock {
  readonly getTime: () => number;
  /** The host whose event happens now. */
  readonly getHost: () => Host;
  readonly schedule: (host: Host, delayMs: number, action: () => void) => Cancel;
  readonly runUntil: (time: number, isDone?: () => boolean) => Promise<void>;
  /** Stops the run with an error. */
  readonly fail: (error: unknown) => void;
  readonly countEvents: () => number;
}

/**
 * Steps are immediates of Node: between two of them it runs all that promises have to do. Several are queued
 * at once, since each turn of the event loop costs more than most steps.
 */
const stepsPerTurn = 32;

export function createClock(outside: Host): Clock {
  const queue = createQueue();
  let time = 0;
  let order = 0;
  let events = 0;
  let current = outside;
  let failure: { readonly error: unknown } | undefined;

  function take(until: number): Event | undefined {
    for (;;) {
      const event = queue.peek();
      if (event === undefined || event.time > until) return undefined;
      queue.pop();
      if (event.isCancelled || !event.host.alive) continue;
      if (event.host.frozenUntil <= event.time) return event;
      event.time = event.host.frozenUntil;
      queue.push(event);
    }
  }

  return {
    getTime: () => time,
    getHost: () => current,
    schedule(host, delayMs, action) {
      order += 1;
      const event: Event = { time: time + Math.max(0, delayMs), order, host, action, isCancelled: false };
      queue.push(event);
      return () => {
        event.isCancelled = true;
      };
    },
    async runUntil(until, isDone = () => false) {
      /** Returns false when there is nothing more to run. */
      function runNext(): boolean {
        if (failure !== undefined || isDone()) return false;
        const event = take(until);
        time = Math.max(time, event?.time ?? until);
        if (event === undefined) return false;
        events += 1;
        current = event.host;
        event.action();
        return true;
      }

      await new Promise<void>((resolve) => {
        let hasEnded = false;

        function step(): void {
          if (hasEnded) return;
          current = outside;
          try {
            if (runNext()) return;
          } catch (error) {
            failure ??= { error };
          }
          hasEnded = true;
          resolve();
        }

        function pump(): void {
          if (hasEnded) return;
          for (let count = 0; count < stepsPerTurn; count += 1) setImmediate(step);
          setImmediate(pump);
        }

        pump();
      });
      if (failure !== undefined) throw failure.error;
    },
    fail(error) {
      failure ??= { error };
    },
    countEvents: () => events,
  };
}

const isBefore = (a: Event, b: Event): boolean => a.time < b.time || (a.time === b.time && a.order < b.order);

/** A binary heap. */
function createQueue() {
  const heap: Event[] = [];
  return {
    peek: () => heap[0],
    push(event: Event): void {
      let at = heap.push(event) - 1;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        const above = heap[parent];
        if (above === undefined || isBefore(above, event)) break;
        heap[at] = above;
        at = parent;
      }
      heap[at] = event;
    },
    pop(): void {
      const last = heap.pop();
      if (last === undefined || heap.length === 0) return;
      let at = 0;
      for (;;) {
        const left = 2 * at + 1;
        const right = left + 1;
        const leftEvent = heap[left];
        if (leftEvent === undefined) break;
        const rightEvent = heap[right];
        const isRightFirst = rightEvent !== undefined && isBefore(rightEvent, leftEvent);
        const child = isRightFirst ? rightEvent : leftEvent;
        if (isBefore(last, child)) break;
        heap[at] = child;
        at = isRightFirst ? right : left;
      }
      heap[at] = last;
    },
  };
}
