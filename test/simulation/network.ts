import type { Clock, Host } from "./clock.ts";
import type { Random } from "./random.ts";

/** The connection was lost: whether the request was executed is unknown. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
}

/**
 * What happens to the next request of a host:
 * - `request`: it is lost with its connection;
 * - `response`: it is executed, but the response is lost;
 * - `late`: the connection is lost, and the request is executed some time later;
 * - `slow`: the response takes long.
 */
export type LinkFault = "request" | "response" | "late" | "slow";

export interface Network {
  /** Executes a request on a server for the current host. Throws ConnectionLostError. */
  readonly call: <T>(server: Host, execute: () => T | Promise<T>) => Promise<T>;
  /** Disturbs the next request from a host to a server. */
  readonly disturb: (from: Host, server: Host, fault: LinkFault) => void;
  /** Cuts a host off from a server. */
  readonly cut: (from: Host, server: Host, ms: number) => void;
  /** Ends everything that was done with `disturb` and `cut`. */
  readonly heal: () => void;
  /** How many requests were disturbed, or failed while a host was cut off. */
  readonly countDisturbed: () => number;
}

interface Link {
  readonly faults: LinkFault[];
  cutUntil: number;
}

/** As the driver and kafkajs are configured. */
const requestTimeoutMs = 15_000;

export function createNetwork(clock: Clock, random: Random): Network {
  const links = new Map<Host, Map<Host, Link>>();
  let disturbed = 0;

  function getLink(from: Host, server: Host): Link {
    const ofHost = links.get(from) ?? new Map<Host, Link>();
    links.set(from, ofHost);
    const link = ofHost.get(server) ?? { faults: [], cutUntil: 0 };
    ofHost.set(server, link);
    return link;
  }

  return {
    call<T>(server: Host, execute: () => T | Promise<T>): Promise<T> {
      const from = clock.getHost();
      const link = getLink(from, server);
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const getDelay = (): number => 0.2 + random.next() * 1.5;
      const isCut = (): boolean => clock.getTime() < link.cutUntil;
      const lose = (delayMs: number): void => {
        disturbed += 1;
        clock.schedule(from, delayMs, () => {
          reject(new ConnectionLostError("connection lost"));
        });
      };
      const fault = isCut() ? "request" : link.faults.shift();
      if (fault === "slow") disturbed += 1;
      const run = async (respond: boolean): Promise<void> => {
        const slowMs = fault === "slow" ? random.between(200, 4_000) : 0;
        let outcome: () => void;
        try {
          const result = await execute();
          outcome = () => {
            resolve(result);
          };
        } catch (error) {
          outcome = () => {
            reject(error);
          };
        }
        if (!respond) return;
        if (isCut()) lose(getDelay());
        else clock.schedule(from, getDelay() + slowMs, outcome);
      };
      const start = (respond: boolean): void => void run(respond).catch(clock.fail);
      switch (fault) {
        case "request":
          lose(random.chance(0.2) ? random.between(100, requestTimeoutMs) : getDelay());
          break;
        case "late":
          lose(getDelay());
          clock.schedule(server, random.between(5, 3_000), () => {
            start(false);
          });
          break;
        case "response":
          lose(getDelay() * 3 + (random.chance(0.2) ? random.between(100, requestTimeoutMs) : 0));
          clock.schedule(server, getDelay(), () => {
            start(false);
          });
          break;
        case "slow":
        case undefined:
          clock.schedule(server, getDelay(), () => {
            start(true);
          });
      }
      // A request that the server does not answer in time.
      const cancelTimeout = clock.schedule(from, requestTimeoutMs, () => {
        reject(new ConnectionLostError("no response in time"));
      });
      return promise.finally(cancelTimeout);
    },
    disturb(from, server, fault) {
      getLink(from, server).faults.push(fault);
    },
    cut(from, server, ms) {
      getLink(from, server).cutUntil = clock.getTime() + ms;
    },
    heal() {
      for (const ofHost of links.values())
        for (const link of ofHost.values()) {
          link.faults.length = 0;
          link.cutUntil = 0;
        }
    },
    countDisturbed: () => disturbed,
  };
}
