/** Time that passes only from one event to the next. Milliseconds. */
export interface Clock {
  readonly now: () => number;
  /** Calls `run` at a time that is not before now. */
  readonly at: (time: number, run: () => void) => void;
  /** Lets time pass until nothing is to happen any more. */
  readonly run: () => Promise<void>;
}

interface Event {
  readonly time: number;
  /** What was asked for first happens first. */
  readonly number: number;
  readonly run: () => void;
}

/** Makes a clock at 0. Between two moments everything that was promised comes to rest, as at the end of an event loop's turn. */
export function createClock(): Clock {
  const heap: Event[] = [];
  let now = 0;
  let number = 0;

  const isBefore = (one: Event, other: Event): boolean =>
    one.time < other.time || (one.time === other.time && one.number < other.number);

  function push(event: Event): void {
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, event)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  function pop(): Event | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || last === first) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      const isRight = one !== undefined && other !== undefined && isBefore(other, one);
      const child = isRight ? other : one;
      if (child === undefined || isBefore(last, child)) break;
      heap[at] = child;
      at = isRight ? left + 1 : left;
    }
    heap[at] = last;
    return first;
  }

  return {
    now: () => now,
    at: (time, run) => {
      push({ time: Math.max(now, time), number: (number += 1), run });
    },
    async run() {
      for (let event = pop(); event !== undefined; event = pop()) {
        now = event.time;
        event.run();
        if (heap[0]?.time !== now) await new Promise(setImmediate);
      }
    },
  };
}
