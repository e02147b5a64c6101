import type { ServerResponse } from "node:http";

import { Overloaded } from "../src/errors.ts";

/** What an operation tells bit by bit, until `abort` is aborted: its caller left, or the service stops. */
export type Events = (abort: AbortSignal) => AsyncIterable<unknown>;

/** Server-sent events (WHATWG HTML, section 9.2), each a JSON text. */
export interface EventStreams {
  /** Takes one more. Throws Overloaded. */
  admit(): void;
  /** Sends what comes, after `admit` and the headers, and ends the answer. */
  send(response: ServerResponse, events: Events): Promise<void>;
}

export const eventStreamHeaders = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-store",
  // nginx gathers what it passes on, unless it is told not to.
  "X-Accel-Buffering": "no",
} as const;

/** Whoever watches holds a connection. */
const mostStreams = 200;

/** Makes the event streams. They end when the service stops, so that it need not wait for them. */
export function createEventStreams(stopping: AbortSignal): EventStreams {
  let streams = 0;
  return {
    admit() {
      if (streams >= mostStreams) throw new Overloaded(`${streams} callers watch`);
      streams += 1;
    },
    async send(response, events) {
      const left = new AbortController();
      response.once("close", () => {
        left.abort();
      });
      try {
        for await (const event of events(AbortSignal.any([left.signal, stopping])))
          response.write(`data: ${JSON.stringify(event)}\n\n`);
      } finally {
        streams -= 1;
        response.end();
      }
    },
  };
}
