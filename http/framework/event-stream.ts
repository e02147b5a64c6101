import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { OverloadedError } from "@topicsync/lib/errors";
import type { Events } from "../../src/operations/framework/operation.ts";

interface Subscription {
  readonly events: Events;
  /** The user's name. */
  readonly user: string;
  /** Whether the user has the right `status.read`: devices have none. */
  readonly canReadStatus: boolean;
  /** Whether the user may still receive the events. Never throws. */
  readonly isStillAllowed: () => Promise<boolean>;
}

/** Server-sent events (WHATWG HTML, section 9.2), each a JSON text. */
export interface EventStreams {
  /** Sends events until they end or the user may no longer receive them. Throws OverloadedError. */
  send(response: ServerResponse, subscription: Subscription): Promise<void>;
}

const headers = {
  Connection: "close",
  "Content-Type": "text/event-stream",
  // Keeps nginx from buffering.
  "X-Accel-Buffering": "no",
} as const;

/** Each holds a connection. */
const maxStreams = 200;
/** The rest is for those who operate the service. */
const maxStreamsWithoutRight = 150;
const maxStreamsPerUser = 10;
/** User records are cached for 15 s, so a change takes effect within 30 s (contract, section 3). */
const checkIntervalMs = 15_000;

/** Creates the event streams. All end when `stopping` is aborted. */
export function createEventStreams(stopping: AbortSignal): EventStreams {
  let streams = 0;
  const streamsByUser = new Map<string, number>();

  function count(user: string, change: 1 | -1): void {
    streams += change;
    const own = (streamsByUser.get(user) ?? 0) + change;
    if (own === 0) streamsByUser.delete(user);
    else streamsByUser.set(user, own);
  }

  function admit(user: string, canReadStatus: boolean): void {
    const own = streamsByUser.get(user) ?? 0;
    if (own >= maxStreamsPerUser)
      throw new OverloadedError(`${user.slice(0, 100)} has ${own} event streams open`);
    if (streams >= (canReadStatus ? maxStreams : maxStreamsWithoutRight))
      throw new OverloadedError(`${streams} event streams are open`);
    count(user, 1);
  }

  return {
    async send(response, { events, user, canReadStatus, isStillAllowed }) {
      admit(user, canReadStatus);
      const end = new AbortController();
      const abort = AbortSignal.any([end.signal, stopping]);
      response.once("close", () => {
        end.abort();
      });
      // "close" is not emitted again if the client left while the credentials were checked.
      if (response.destroyed) end.abort();
      response.writeHead(200, headers);
      void endWhenForbidden(end, abort, isStillAllowed);
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

async function endWhenForbidden(
  end: AbortController,
  abort: AbortSignal,
  isStillAllowed: Subscription["isStillAllowed"],
): Promise<void> {
  try {
    do await sleep(checkIntervalMs, undefined, { signal: abort, ref: false });
    while (await isStillAllowed());
    end.abort();
  } catch {
    // The stream has ended.
  }
}
