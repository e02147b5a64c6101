import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { OverloadedError } from "../../src/lib/errors.ts";

/** What an operation tells bit by bit, until `abort` is aborted: its caller left, or the service stops. */
export type Events = (abort: AbortSignal) => AsyncIterable<unknown>;

/** Events, and the caller who watches them. */
export interface Watched {
  readonly events: Events;
  readonly user: string;
  /** Whether the caller may still watch. Never throws. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** Server-sent events (WHATWG HTML, section 9.2), each a JSON text. */
export interface EventStreams {
  /** Takes one more of a user. Throws OverloadedError. */
  admit(user: string): void;
  /** Sends what comes, after `admit` and the headers, until the caller may not watch any more, and ends the answer. */
  send(response: ServerResponse, watched: Watched): Promise<void>;
}

export const eventStreamHeaders = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-store",
  // nginx gathers what it passes on, unless it is told not to.
  "X-Accel-Buffering": "no",
} as const;

/** Each holds a connection. */
const maxStreams = 200;
const maxStreamsPerUser = 10;
/** With the 15 s for which a user's record is believed, a change counts within 30 s (contract, section 3). */
const checkIntervalMs = 15_000;

/** Creates the event streams. They end when the service stops, so that it need not wait for them. */
export function createEventStreams(stopping: AbortSignal): EventStreams {
  let streams = 0;
  const streamsByUser = new Map<string, number>();

  function count(user: string, change: 1 | -1): void {
    streams += change;
    const own = (streamsByUser.get(user) ?? 0) + change;
    if (own === 0) streamsByUser.delete(user);
    else streamsByUser.set(user, own);
  }

  return {
    admit(user) {
      const own = streamsByUser.get(user) ?? 0;
      if (own >= maxStreamsPerUser)
        throw new OverloadedError(`${user.slice(0, 100)} has ${own} event streams open`);
      if (streams >= maxStreams) throw new OverloadedError(`${streams} event streams are open`);
      count(user, 1);
    },
    async send(response, { events, user, mayGoOn }) {
      const end = new AbortController();
      const abort = AbortSignal.any([end.signal, stopping]);
      response.once("close", () => {
        end.abort();
      });
      // The caller may have left while their credentials were checked; "close" does not come again.
      if (response.destroyed) end.abort();
      void endWhenRefused(end, abort, mayGoOn);
      try {
        for await (const event of events(abort)) {
          if (response.write(`data: ${JSON.stringify(event)}\n\n`)) continue;
          await once(response, "drain", { signal: abort }).catch(() => undefined);
        }
      } finally {
        end.abort();
        count(user, -1);
        response.end();
      }
    },
  };
}

async function endWhenRefused(
  end: AbortController,
  abort: AbortSignal,
  mayGoOn: Watched["mayGoOn"],
): Promise<void> {
  try {
    do await sleep(checkIntervalMs, undefined, { signal: abort, ref: false });
    while (await mayGoOn());
    end.abort();
  } catch {
    // It has ended by itself.
  }
}
